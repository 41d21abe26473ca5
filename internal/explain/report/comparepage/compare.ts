// Makes the tables of a comparison sortable and filterable.

import { present } from "../../../web/plot";
import { enhance } from "../page/tables";

document.querySelectorAll("main .scroll table").forEach((t) => enhance(t as HTMLTableElement));
present(() => {});
