"use strict";(()=>{function M(n){let i=document.documentElement;matchMedia("(prefers-color-scheme: dark)").addEventListener("change",n),addEventListener("beforeprint",()=>{i.dataset.
theme="light",i.dataset.print="1",document.querySelectorAll("details").forEach(s=>s.open=!0),n()}),addEventListener("afterprint",()=>{delete i.dataset.theme,delete i.
dataset.print,n()}),n(),i.dataset.ready="1"}function C(n){let i=n.tBodies[0],s=[...i.rows],u=[...n.tHead?.rows[0].cells??[]],v=n.parentElement,c=s.length<=15,d="",h="",p=u.findIndex(e=>e.textContent==="ki\
nd"),f=p<0?[]:[...new Set(s.map(e=>e.cells[p].textContent??""))],a=document.createElement("button");a.type="button",a.className="more";let g=document.createElement(
"span"),l=()=>{let e=0,o=0;for(let t of i.rows){let r=(d===""||(t.textContent??"").toLowerCase().includes(d))&&(h===""||t.cells[p].textContent===h);r&&e++,t.hidden=
!r||!c&&o>=12,t.hidden||o++}a.hidden=e<=12||s.length<=15,a.textContent=c?"Show the first 12 only":`Show all ${e}`,g.textContent=d===""?"":`${e} of ${s.length} r\
ows`};if(a.addEventListener("click",()=>{c=!c,l()}),n.addEventListener("reveal",()=>{c=!0,d=h="",n.parentElement?.previousElementSibling?.querySelectorAll("inpu\
t[type=search], select").forEach(e=>e.value=""),l()}),u.forEach((e,o)=>{if(!e.textContent)return;let t=document.createElement("button");t.type="button",t.textContent=
e.textContent,e.replaceChildren(t),t.addEventListener("click",()=>{let r=s.some(m=>m.cells[o].dataset.v!==void 0),x=e.ariaSort,b=x?x==="ascending":r;for(let m of u)
m.removeAttribute("aria-sort");e.ariaSort=b?"descending":"ascending",s.sort((m,k)=>{let w=m.cells[o],E=k.cells[o],y=r?Number(w.dataset.v??0)-Number(E.dataset.v??
0):(w.textContent??"").localeCompare(E.textContent??"");return b?-y:y}),i.append(...s),l()})}),s.length>8||n.dataset.names){let e=document.createElement("div");
if(e.className="tabletools",f.length>1&&s.length>8){let o=document.createElement("label"),t=document.createElement("select");t.add(new Option("every kind",""));
for(let r of f)t.add(new Option(r==="all"?"all together":r,r));f.includes("all")&&(h=t.value="all"),t.addEventListener("change",()=>{h=t.value,l()}),o.append("S\
teps of kind ",t),e.append(o)}if(s.length>8){let o=document.createElement("label"),t=document.createElement("input");t.type="search",t.addEventListener("input",
()=>{d=t.value.trim().toLowerCase(),l()}),o.append("Filter ",t),e.append(o,g),g.setAttribute("role","status")}if(n.dataset.names){let o=document.createElement("\
label"),t=document.createElement("input");t.type="checkbox",t.addEventListener("change",()=>n.classList.toggle("names",t.checked)),o.append(t," full names"),e.append(
o)}v.before(e)}v.after(a),l()}document.querySelectorAll("main .scroll table").forEach(n=>C(n));M(()=>{});})();
