"use strict";(()=>{var u=class extends Error{constructor(t,r){super(t);this.status=r}status},P=(()=>{let s=document.getElementById("answers");return s===null?null:JSON.parse(s.textContent??
"{}")})();function B(s,e={}){let t=new URLSearchParams;for(let n of Object.keys(e).sort()){let o=e[n];o!=null&&o!==""&&t.set(n,String(o))}let r=t.toString();return"\
api/"+s+(r===""?"":"?"+r)}var y=0,S=()=>{};function C(s){S=s}async function D(s){y++;try{return await s}finally{setTimeout(()=>{--y===0&&S()})}}function x(){return y===
0}async function U(s,e){let t;try{t=await fetch(s,e)}catch(o){throw e.signal?.aborted?o:new u("stepscope does not answer: has it been ended?",0)}if(t.ok)return t;
let r=await t.text(),n=r;try{n=JSON.parse(r).error}catch{}throw new u(n,t.status)}function z(s){let e=P?.[s];if(e===void 0)throw new u("this is not part of an e\
xported page: open the capture with stepscope view",404);return e}function j(s,e={},t){let r=B(s,e);return D((async()=>P!==null?z(r).json:await(await U(r,t?{signal:t}:
{})).json())())}function i(s,e=null,...t){let r=document.createElement(s);for(let[n,o]of Object.entries(e??{}))if(!(o==null||o===!1))if(n==="on")for(let[a,d]of Object.entries(o))
r.addEventListener(a,d);else n==="data"?Object.assign(r.dataset,o):n==="class"?r.className=String(o):r.setAttribute(n,o===!0?"":String(o));return L(r,...t),r}function L(s,...e){
for(let t of e)t==null||t===!1||s.append(typeof t=="number"?String(t):t)}function p(s,...e){s.replaceChildren(),L(s,...e)}var I={ArrowLeft:"←",ArrowRight:"→",ArrowUp:"↑",ArrowDown:"↓",Escape:"Esc"," ":"Space",Enter:"Enter"},m=class{bindings=[];dialog=null;constructor(){addEventListener(
"keydown",e=>this.press(e)),this.bind("?","Everywhere","show the keys",()=>this.show())}bind(e,t,r,n){let o={keys:e===" "?[" "]:e.split(" "),help:r,group:t,run:n};
return this.bindings.push(o),()=>{this.bindings=this.bindings.filter(a=>a!==o)}}press(e){if(e.defaultPrevented||this.dialog?.open)return;let t=e.target;if(t instanceof
HTMLInputElement&&!["checkbox","radio","button","range"].includes(t.type)||t instanceof HTMLSelectElement||t instanceof HTMLTextAreaElement){e.key==="Escape"&&t.
blur();return}if(t instanceof HTMLInputElement&&t.type==="range"&&e.key.startsWith("Arrow"))return;let n=(e.ctrlKey||e.metaKey?"Ctrl+":"")+(e.altKey?"Alt+":"")+
(e.shiftKey&&e.key.length>1?"Shift+":"")+e.key,o=this.bindings.findLast(a=>a.keys.includes(n));o!==void 0&&(e.preventDefault(),o.run(e))}show(){this.dialog??=document.
body.appendChild(i("dialog",{class:"keys-dialog","aria-label":"Keys"}));let e=new Map;for(let t of this.bindings)e.set(t.group,[...e.get(t.group)??[],t]);p(this.
dialog,i("h2",null,"Keys"),i("div",{class:"keys-groups"},...[...e].map(([t,r])=>i("section",null,i("h3",null,t),i("dl",null,...r.flatMap(n=>[i("dt",null,...n.keys.
flatMap((o,a)=>[a>0&&" ",i("kbd",null,o.split("+").map(d=>I[d]??(d||"+")).join(" + "))])),i("dd",null,n.help)]))))),i("form",{method:"dialog"},i("button",{class:"\
button"},"Close"))),this.dialog.showModal()}};function M(s){let e=Object.create(null);for(let[t,r]of new URLSearchParams(s.replace(/^#/,"")))t!==""&&r!==""&&(e[t]=r);return e}function f(s){let e=Object.keys(
s).sort((t,r)=>+(r==="tab")-+(t==="tab")||(t<r?-1:1));return"#"+new URLSearchParams(e.map(t=>[t,s[t]])).toString()}function K(s,e){let t=Object.assign(Object.create(
null),s);for(let[r,n]of Object.entries(e))n==null||n===""?delete t[r]:t[r]=typeof n=="number"?String(Math.round(n)):n;return t}function b(s,e){let t=Object.create(null);for(let r of["theme","c","run","vs"])s[r]!==void 0&&(t[r]=s[r]);return K(t,e)}var g=class{listeners=[];params=M(location.
hash);constructor(){addEventListener("hashchange",()=>this.take(M(location.hash)))}follow(e){this.listeners.push(e)}set(e,t="replace"){this.go(K(this.params,e),
t)}go(e,t="push"){let r=f(e);r!==f(this.params)&&(t==="push"?history.pushState(null,"",r):history.replaceState(null,"",r),this.take(e))}take(e){let t=this.params;
this.params=e;for(let r of this.listeners)r(e,t)}};var w={id:"summary",title:"Summary",needs:"capture",open:()=>({el:i("div",null)})};var O={id:"timeline",title:"Timeline",needs:"capture",open:()=>({el:i("div",null)})};var A={id:"kernels",title:"Kernels",needs:"capture",open:()=>({el:i("div",null)})};var R={id:"whatif",title:"What if",needs:"capture",open:()=>({el:i("div",null)})};var N={id:"bench",title:"Benchmark",needs:"runs",open:()=>({el:i("div",null)})};var H={id:"live",title:"Live",needs:"server",open:()=>({el:i("div",null)})};var k={id:"runs",title:"Runs",needs:"runs",open:()=>({el:i("div",null)})};var T=[w,O,A,R,N,H,k],l=document.documentElement,q=matchMedia("(prefers-color-scheme: dark)");function v(s){if(s instanceof DOMException&&s.name==="AbortError")
return;let e=s instanceof Error?s.message:String(s);l.dataset.error??=e,h.hidden=!1,p(h,e)}addEventListener("error",s=>v(s.error??s.message));addEventListener("\
unhandledrejection",s=>v(s.reason));var h=i("p",{class:"trouble",role:"alert",hidden:!0}),c=i("main",{id:"main",tabindex:"-1"}),E=class{constructor(e){this.session=
e;let t=T.filter(r=>this.offers(r));document.body.replaceChildren(i("a",{class:"skip",href:"#main",on:{click:r=>(r.preventDefault(),c.focus())}},"Skip to the vi\
ew"),i("header",{class:"bar"},i("h1",null,"stepscope"),this.nav,i("span",{class:"space"}),this.picker,i("button",{class:"quiet",title:"Light or dark (key: \\)",
"aria-label":"Light or dark",on:{click:()=>this.turn()}},"◐"),i("button",{class:"quiet",title:"Keys (key: ?)","aria-label":"Keys",on:{click:()=>dispatchEvent(
new KeyboardEvent("keydown",{key:"?"}))}},"?")),h,c),t.forEach((r,n)=>this.keys.bind(String(n+1),"Everywhere","show "+r.title,()=>this.open(r.id))),this.keys.bind(
"\\","Everywhere","light or dark",()=>this.turn()),this.picker.addEventListener("change",()=>this.store.go(b(this.store.params,{tab:this.tab().id,c:this.picker.
value}))),this.store.follow((r,n)=>this.change(r,n)),q.addEventListener("change",()=>this.paint()),C(()=>this.ready()),this.change(this.store.params,{})}session;store=new g;keys=new m;view=null;shown="";loose=[];nav=i(
"nav",{"aria-label":"Views"});picker=i("select",{"aria-label":"Capture",class:"capture"});offers(e){switch(e.needs){case"capture":return this.session.captures.length>
0||this.session.runs;case"server":return!this.session.exported;case"runs":return this.session.runs;case"nothing":return!0}}tab(){let{tab:e}=this.store.params,t=T.
filter(n=>this.offers(n)),r=this.session.captures.length>0?w:k;return t.find(n=>n.id===e)??t.find(n=>n===r)??t[0]}open(e){this.store.go(b(this.store.params,{tab:e}))}turn(){
this.store.set({theme:l.dataset.theme==="dark"?"light":"dark"})}paint(){let{theme:e}=this.store.params,t=l.dataset.theme;l.dataset.theme=e==="light"||e==="dark"?
e:q.matches?"dark":"light",l.dataset.theme!==t&&this.view?.restyle?.()}change(e,t){delete l.dataset.ready,this.paint();let r=this.tab(),n=this.session.captures,
o=n.find(d=>d.id===e.c)??(e.c===void 0?n[0]:void 0),a=JSON.stringify([r.id,e.c??n[0]?.id]);a===this.shown?this.view?.update?.(e,t):this.show(r,a,{session:this.session,
store:this.store,keys:this.scoped(),capture:o}),this.head(r,e),x()&&this.ready()}scoped(){for(let r of this.loose.splice(0))r();let e=this.keys,t=this.loose;return Object.
assign(Object.create(e),{bind(...r){let n=e.bind(...r);return t.push(n),n}})}show(e,t,r){this.view?.close?.(),this.shown=t,h.hidden=!0,delete l.dataset.error;try{
this.view=e.open(r),c.className="view-"+e.id,c.replaceChildren(this.view.el)}catch(n){this.view=null,c.replaceChildren(),v(n)}}head(e,t){p(this.nav,...T.filter(
n=>this.offers(n)).map(n=>i("a",{href:f(b(t,{tab:n.id})),"aria-current":n===e?"page":null},n.title)));let r=this.session.captures;this.picker.hidden=r.length<2,
this.picker.hidden||(p(this.picker,...r.map(n=>i("option",{value:n.id},n.title))),this.picker.value=t.c??r[0].id),document.title=`${e.title} · ${r.find(n=>n.id===
t.c)?.title??r[0]?.title??"runs"} · stepscope`}ready(){requestAnimationFrame(()=>requestAnimationFrame(()=>{x()&&(l.dataset.ready="1")}))}};document.body.replaceChildren(
h,c);j("session").then(s=>new E(s)).catch(v);})();
