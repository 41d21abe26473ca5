// @ts-check
"use strict";
// Makes the tables of a comparison sort and filter.

document.querySelectorAll("main .scroll table").forEach((t) => enhance(/** @type {HTMLTableElement} */ (t)));
present(() => {});
