// Makes the tables of a comparison sort and filter.

import { present } from "../page/plot";
import { enhance } from "../page/tables";

document.querySelectorAll("main .scroll table").forEach((t) => enhance(t as HTMLTableElement));
present(() => {});
