"use strict";(()=>{var B=class extends Error{constructor(e,t){super(e);this.status=t}status},ce=(()=>{let a=document.getElementById("answers");return a===null?null:JSON.parse(a.textContent??
"{}")})();function Oe(a,s={}){let e=new URLSearchParams;for(let n of Object.keys(s).sort()){let i=s[n];i!=null&&i!==""&&e.set(n,String(i))}let t=e.toString();return"\
api/"+a+(t===""?"":"?"+t)}var te=0,me=()=>{};function fe(a){me=a}async function Ne(a){te++;try{return await a}finally{setTimeout(()=>{--te===0&&me()})}}function ne(){
return te===0}async function De(a,s){let e;try{e=await fetch(a,s)}catch(i){throw s.signal?.aborted?i:new B("stepscope does not answer: has it been ended?",0)}if(e.
ok)return e;let t=await e.text(),n=t;try{n=JSON.parse(t).error}catch{}throw new B(n,e.status)}function Ke(a){let s=ce?.[a];if(s===void 0)throw new B("this is no\
t part of an exported page: open the capture with stepscope view",404);return s}function y(a,s={},e){let t=Oe(a,s);return Ne((async()=>ce!==null?Ke(t).json:await(await De(
t,e?{signal:e}:{})).json())())}function r(a,s=null,...e){let t=document.createElement(a);for(let[n,i]of Object.entries(s??{}))if(!(i==null||i===!1))if(n==="on")for(let[o,l]of Object.entries(i))
t.addEventListener(o,l);else n==="data"?Object.assign(t.dataset,i):n==="class"?t.className=String(i):t.setAttribute(n,i===!0?"":String(i));return be(t,...e),t}function be(a,...s){
for(let e of s)e==null||e===!1||a.append(typeof e=="number"?String(e):e)}function w(a,...s){a.replaceChildren(),be(a,...s)}var Fe={ArrowLeft:"←",ArrowRight:"→",ArrowUp:"↑",ArrowDown:"↓",Escape:"Esc"," ":"Space",Enter:"Enter"},N=class{bindings=[];dialog=null;constructor(){addEventListener(
"keydown",s=>this.press(s)),this.bind("?","Everywhere","show the keys",()=>this.show())}bind(s,e,t,n){let i={keys:s===" "?[" "]:s.split(" "),help:t,group:e,run:n};
return this.bindings.push(i),()=>{this.bindings=this.bindings.filter(o=>o!==i)}}press(s){if(s.defaultPrevented||this.dialog?.open)return;let e=s.target;if(e instanceof
HTMLInputElement&&!["checkbox","radio","button","range"].includes(e.type)||e instanceof HTMLSelectElement||e instanceof HTMLTextAreaElement){s.key==="Escape"&&e.
blur();return}if(e instanceof HTMLInputElement&&e.type==="range"&&s.key.startsWith("Arrow"))return;let n=(s.ctrlKey||s.metaKey?"Ctrl+":"")+(s.altKey?"Alt+":"")+
(s.shiftKey&&s.key.length>1?"Shift+":"")+s.key,i=this.bindings.findLast(o=>o.keys.includes(n));i!==void 0&&(s.preventDefault(),i.run(s))}show(){this.dialog??=document.
body.appendChild(r("dialog",{class:"keys-dialog","aria-label":"Keys"}));let s=new Map;for(let e of this.bindings)s.set(e.group,[...s.get(e.group)??[],e]);w(this.
dialog,r("h2",null,"Keys"),r("div",{class:"keys-groups"},...[...s].map(([e,t])=>r("section",null,r("h3",null,e),r("dl",null,...t.flatMap(n=>[r("dt",null,...n.keys.
flatMap((i,o)=>[o>0&&" ",r("kbd",null,i.split("+").map(l=>Fe[l]??(l||"+")).join(" + "))])),r("dd",null,n.help)]))))),r("form",{method:"dialog"},r("button",{class:"\
button"},"Close"))),this.dialog.showModal()}};function ge(a){let s=Object.create(null);for(let[e,t]of new URLSearchParams(a.replace(/^#/,"")))e!==""&&t!==""&&(s[e]=t);return s}function S(a){let s=Object.keys(
a).sort((e,t)=>+(t==="tab")-+(e==="tab")||(e<t?-1:1));return"#"+new URLSearchParams(s.map(e=>[e,a[e]])).toString()}function ve(a,s){let e=Object.assign(Object.create(
null),a);for(let[t,n]of Object.entries(s))n==null||n===""?delete e[t]:e[t]=typeof n=="number"?String(Math.round(n)):n;return e}function q(a,s,e){let t=a[s];return t!==
void 0&&/^-?\d{1,15}$/.test(t)?Number(t):e}function E(a,s){let e=Object.create(null);for(let t of["theme","c","run","vs"])a[t]!==void 0&&(e[t]=a[t]);return ve(e,
s)}var D=class{listeners=[];params=ge(location.hash);constructor(){addEventListener("hashchange",()=>this.take(ge(location.hash)))}follow(s){this.listeners.push(
s)}set(s,e="replace"){this.go(ve(this.params,s),e)}go(s,e="push"){let t=S(s);t!==S(this.params)&&(e==="push"?history.pushState(null,"",t):history.replaceState(null,
"",t),this.take(s))}take(s){let e=this.params;this.params=s;for(let t of this.listeners)t(s,e)}};var se={id:"summary",title:"Summary",needs:"capture",open:()=>({el:r("div",null)})};var xe={id:"timeline",title:"Timeline",needs:"capture",open:()=>({el:r("div",null)})};var we={id:"kernels",title:"Kernels",needs:"capture",open:()=>({el:r("div",null)})};var ye={id:"whatif",title:"What if",needs:"capture",open:()=>({el:r("div",null)})};function T(a){let[s,e]=a.split("."),t=s.replace(/\B(?=(\d{3})+$)/g,",");return e===void 0?t:t+"."+e}function ie(a){if(a===0)return"0";let s=Math.floor(Math.log10(
Math.abs(a)));return Math.abs(a)>=Math.pow(10,s+1)*(1-5e-4)&&s++,T(a.toFixed(Math.min(Math.max(2-s,0),20)))}function Ie(a,s){let e=s[s.length-1];if(a===0)return"\
0 "+e[1];for(let[t,n]of s)if(Math.abs(a)/t>=.9995)return(t===1&&Number.isInteger(a)?T(String(a)):ie(a/t))+" "+n;return ie(a)+" "+e[1]}function v(a){return Ie(a,
[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function ke(a,s){let[e,t]=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]].find(([i])=>Math.abs(a)>=i)??[1,"ns"],n=Math.
min(Math.max(Math.ceil(Math.log10(e/s)-1e-9),0),9);return a===0?"0":T((a/e).toFixed(n))+" "+t}function Me(a){return ie(a*100)+" %"}function L(a,s){if(!(a>0))return[0];let e=a/s,t=Math.pow(10,Math.floor(Math.log10(e))),n=[1,2,5,10].find(o=>o*t>=e*.999)||10,i=[];for(let o=0;o<=a*1.0001;o+=n*t)
i.push(o);return i}function We(){let{theme:a}=document.documentElement.dataset;return a==="dark"||a!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function Ve(){let a=getComputedStyle(
document.documentElement),s=We()?2:1;return e=>/light-dark\(([^,]*),\s*([^)]*)\)/.exec(a.getPropertyValue("--"+e))?.[s]??"#888888"}var re=[];var R=class{constructor(s,e,t={}){this.height=e;this.canvas=typeof s=="string"?document.getElementById(s):s,this.left=t.left??58,this.bottom=t.bottom??22,this.canvas.
style.height=e+"px",re.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.width||this.draw())),this.sizes.observe(
this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),re.splice(re.indexOf(this),1)}area(){return{x:this.left,y:6,w:Math.
max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let s=this.canvas.clientWidth,e=window.devicePixelRatio||1;if(s===0)return;this.
width=s,this.canvas.width=Math.round(s*e),this.canvas.height=Math.round(this.height*e);let t=this.pen();t&&(this.paint(t),this.ground??=document.createElement("\
canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.mark(t),this.canvas.
dataset.drawn="1")}again(){let s=this.pen();if(!s||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();s.ctx.setTransform(1,0,0,1,0,0),s.ctx.clearRect(
0,0,this.canvas.width,this.canvas.height),s.ctx.drawImage(this.ground,0,0),this.mark({...s,ctx:this.scale(s.ctx)})}scale(s){let e=window.devicePixelRatio||1;return s.
setTransform(e,0,0,e,0,0),s}pen(){let s=this.canvas.getContext("2d");return s?(this.scale(s).font="11px system-ui, sans-serif",{ctx:s,area:this.area(),color:Ve()}):
null}paint(s){}mark(s){}yAxis({ctx:s,area:e,color:t},n,i){s.textAlign="right",s.textBaseline="middle";for(let o of L(n,Math.max(e.h/45,2))){let l=e.y+e.h*(1-o/n);
s.fillStyle=t("line"),s.fillRect(e.x,Math.round(l),e.w,1),s.fillStyle=t("soft"),s.fillText(i(o),e.x-6,l)}}};function Te(){let a=document.getElementById("tip");if(a)
return a;let s=document.createElement("div");return s.id="tip",s.setAttribute("role","status"),document.body.appendChild(s)}function F(a,s,e,t){let n=Te(),i=document.
createElement("dl");for(let[m,c]of t.rows){let f=document.createElement("dt"),g=document.createElement("dd");f.textContent=m,g.textContent=c,i.append(f,g)}let o=document.
createElement("strong");o.textContent=t.title,n.replaceChildren(o,i),n.hidden=!1;let l=a.getBoundingClientRect(),h=n.getBoundingClientRect(),d=document.documentElement.
clientWidth,u=l.left+s+14;u+h.width>d-8&&(u=Math.max(l.left+s-14-h.width,4));let p=l.top+e+14;p+h.height>window.innerHeight-4&&(p=Math.max(l.top+e-14-h.height,4)),
n.style.left=u+window.scrollX+"px",n.style.top=p+window.scrollY+"px"}function H(){Te().hidden=!0}var K=class{constructor(s,e=4){this.cols=s;this.least=e;this.hi=
Math.max(s,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(s){this.moved||=s,!this.pending&&(this.pending=requestAnimationFrame(
()=>{let e=this.moved;this.pending=0,this.moved=!1;for(let t of this.plots)e?t.draw():t.again();e&&this.whenMoved()}))}zoom(s,e){let t=Math.min(Math.max(e-s,this.
least),this.cols),n=(s+e)/2;this.lo=Math.min(Math.max(n-t/2,0),this.cols-t),this.hi=this.lo+t,this.changed(!0)}point(s){this.col=s<0?-1:Math.min(s,this.cols-1);
let e=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-e/2,this.col+.5+e/2),this.changed(!1)}};function oe(a){let s=["decode","prefill","mixed","other","idle"].indexOf(a);return"k"+(s<0?3:s)}var I=class extends R{constructor(e,t,n,i,o,l=28){super(e,t,{left:o,bottom:l});this.data=n;this.view=i;this.grid=n.grid,i.plots.push(this),this.listen()}data;view;grid;x(e,t){
return t.x+(e-this.view.lo)/(this.view.hi-this.view.lo)*t.w}colAt(e){let t=this.area();return this.view.lo+(e-t.x)/t.w*(this.view.hi-this.view.lo)}colOf(e){let{
first:t,last:n}=this.grid,i=0,o=t.length-1;for(;i<o;){let l=i+o+1>>1;t[l]<=e?i=l:o=l-1}return t.length&&t[i]<=e&&e<=n[i]?i:-1}stepName(e){let t=this.grid,n=t.kind[e]<
0?"several kinds":this.data.kinds[t.kind[e]];return(t.first[e]===t.last[e]?"step "+t.first[e]:`steps ${t.first[e]}–${t.last[e]}`)+", "+n}xAxis({ctx:e,area:t,color:n}){
let i=this.grid,o=this.view,l=t.y+t.h,h=Math.max(Math.floor(o.lo),0),d=Math.min(Math.ceil(o.hi),i.cols);if(this.data.kinds.length>1)for(let f=h;f<d;f++){let g=Math.
max(this.x(f,t),t.x),x=Math.min(this.x(f+1,t),t.x+t.w);e.fillStyle=n(i.kind[f]<0?"k4":oe(this.data.kinds[i.kind[f]])),e.fillRect(g,l+3,Math.max(x-g-(x-g>3?1:0),
.5),4)}e.textAlign="center",e.textBaseline="top",e.fillStyle=n("soft");let u=(d-h)*i.bucket,p=L(u,Math.max(t.w/70,2)),m=Math.max(Math.round(p.length>1?p[1]:1),1),
c=-1/0;for(let f=h;f<d;f++){let g=Math.ceil(i.first[f]/m)*m,x=this.x(f+(i.bucket===1?.5:(g-i.first[f])/i.bucket),t);g>i.last[f]||x-c<30||x<t.x||x>t.x+t.w||(e.fillText(
String(g),x,l+10),c=x)}}mark({ctx:e,area:t,color:n}){let i=this.view.col;if(i<this.view.lo-1||i>this.view.hi)return;let o=Math.max(this.x(i,t),t.x),l=Math.min(this.
x(i+1,t),t.x+t.w);i<0||l<=o||(e.strokeStyle=n("mark"),e.globalAlpha=.7,e.strokeRect(o+.5,t.y+.5,Math.max(l-o-1,1),t.h-1),e.globalAlpha=1)}tip(e,t){return null}tipAt(e,t){
return null}rowAt(e){return 0}rows(){return 1}point(e,t,n,i){this.rows()>1&&(this.view.row=t),this.view.point(e);let o=n!==void 0&&i!==void 0&&this.tipAt(n,i)||
this.tip(this.view.col,t),l=this.area();if(!o)return H();F(this.canvas,n??this.x(this.view.col+.5,l),i??l.y+l.h*(t+.5)/this.rows(),o)}listen(){let e=this.canvas,
t=this.view,n=NaN;e.addEventListener("pointerdown",i=>{n=i.offsetX}),e.addEventListener("pointermove",i=>{let o=Math.floor(this.colAt(i.offsetX));if(o<0||o>=this.
grid.cols||i.offsetX<this.left)return this.leave();this.point(o,this.rowAt(i.offsetY),i.offsetX,i.offsetY)}),e.addEventListener("pointerup",i=>{if(Math.abs(i.offsetX-
n)>8){let o=this.colAt(n),l=this.colAt(i.offsetX);t.zoom(Math.min(o,l),Math.max(o,l))}n=NaN}),e.addEventListener("pointerleave",()=>this.leave()),e.addEventListener(
"blur",()=>this.leave()),e.addEventListener("dblclick",()=>t.zoom(0,t.cols)),e.addEventListener("keydown",i=>{this.key(i.key,i.shiftKey)&&i.preventDefault()})}leave(){
H(),this.view.point(-1)}key(e,t){let n=this.view,i=n.col<0?Math.floor(n.lo):n.col,o=n.col<0?(n.lo+n.hi)/2:n.col+.5,l=(n.hi-n.lo)/2,h=t?10:1,d=this.rows()>1?n.row:
0;switch(e){case"ArrowLeft":return this.point(Math.max(i-h,0),d),!0;case"ArrowRight":return this.point(Math.min(n.col<0?i:i+h,n.cols-1),d),!0;case"ArrowUp":case"\
ArrowDown":return this.rows()<2?!1:(this.point(i,Math.min(Math.max(n.row+(e==="ArrowUp"?-h:h),0),this.rows()-1)),!0);case"Home":return this.point(0,d),!0;case"E\
nd":return this.point(n.cols-1,d),!0;case"+":case"=":return n.zoom(o-l/2,o+l/2),!0;case"-":return n.zoom(o-l*2,o+l*2),!0;case"Escape":return this.leave(),n.zoom(
0,n.cols),!0}return!1}};var P=class extends I{constructor(e,t,n,i,o=!0){super(e,t,{kinds:[],grid:{cols:n.running.length}},i,64,o?28:6);this.bench=n;this.axis=o}bench;axis;fine=null;at(e,t){
return this.x(e/this.bench.bin_ns,t)}sight(){return{from:this.view.lo*this.bench.bin_ns,to:this.view.hi*this.bench.bin_ns}}whenClicked(e){let t=NaN;this.canvas.
addEventListener("pointerdown",n=>t=n.offsetX),this.canvas.addEventListener("click",n=>{Math.abs(n.offsetX-t)<=8&&e(n.offsetX,n.offsetY)})}when(e,t){return this.
bench.at[e]+(this.bench.at_once?Math.max(t[e],0):0)}shade({ctx:e,area:t,color:n}){for(let[i,o,l]of[[this.bench.steady,"info",.1],[this.bench.profiled,"k3",.15]]){
e.fillStyle=n(o),e.globalAlpha=l;for(let h of i){let d=Math.max(this.at(h.from,t),t.x),u=Math.min(this.at(h.to,t),t.x+t.w);u>d&&e.fillRect(d,t.y,u-d,t.h)}e.globalAlpha=
1}}xAxis({ctx:e,area:t,color:n}){if(!this.axis)return;let i=this.bench.bin_ns,o=this.view.lo*i,l=this.view.hi*i,h=L(l-o,Math.max(t.w/110,2)),d=h.length>1?h[1]:l-
o||1;e.fillStyle=n("soft"),e.textBaseline="top",e.textAlign="center";for(let u=Math.ceil(o/d)*d;u<=l;u+=d)e.fillText(ke(Math.round(u),d),Math.min(this.at(u,t),t.
x+t.w-14),t.y+t.h+5)}inside({ctx:e,area:t},n){e.save(),e.beginPath(),e.rect(t.x,t.y,t.w,t.h),e.clip(),n(),e.restore()}bins(){return this.fine??this.bench}stairs({
ctx:e,area:t,color:n},i,o,l,h){let d=this.bins(),u=m=>t.y+t.h*(1-m/o),p=m=>this.at(d.from_ns+m*d.bin_ns,t);e.beginPath(),i.forEach((m,c)=>{e.lineTo(p(c),u(m)),e.
lineTo(p(c+1),u(m))}),e.strokeStyle=e.fillStyle=n(l),e.lineWidth=1.5,e.stroke(),h&&(e.lineTo(p(i.length),t.y+t.h),e.lineTo(p(0),t.y+t.h),e.globalAlpha=.18,e.fill(),
e.globalAlpha=1)}top(e){let t=this.bins(),n=o=>(o*this.bench.bin_ns-t.from_ns)/t.bin_ns,i=0;for(let o=Math.max(Math.floor(n(this.view.lo)),0);o<Math.min(Math.ceil(
n(this.view.hi)),e.length);o++)i=Math.max(i,e[o]);return i*1.06||1}tip(e){let t=this.bench;if(e<0||e>=t.running.length)return null;let n=[],i=l=>l>=e*t.bin_ns&&
l<(e+1)*t.bin_ns,o=Se(t.at,i);o.length&&n.push(["requests sent",String(o.length)]);for(let[l,h]of[["TTFT",t.ttft],["E2E",t.e2e]]){let d=h.reduce((u,p,m)=>p>u&&i(
this.when(m,h))?p:u,-1);d>=0&&n.push(["longest "+l,v(d)])}return t.embedding||n.push([C(t)?"output tokens in the busiest second":"output tokens in the last seco\
nd",ae(t.busiest[e])]),!t.embedding&&C(t)&&n.push(["output tokens/s, mean",ae(t.tokens[e]/(t.bin_ns/1e9))]),n.push(["under way at most",T(String(t.most[e]))],["\
under way, mean",t.running[e].toFixed(1)]),t.embedding||n.push(["in decode, mean",t.decode[e].toFixed(1)]),n.push(["ended",String(t.ended[e])]),t.failed[e]&&n.push(
["failed",String(t.failed[e])]),{title:`${e?v(e*t.bin_ns):"0"} – ${v((e+1)*t.bin_ns)}`,rows:n}}};function Se(a,s){let e=[];return a.forEach((t,n)=>s(t,n)&&e.push(
n)),e}function ae(a){return a===0?"0":a>=99.95?T(String(Math.round(a))):a.toFixed(1)}function Xe(a,s){let e=[];for(let t=Math.pow(10,Math.floor(Math.log10(a)));t<=
s;t*=10)for(let n of[1,2,5])n*t>=a&&n*t<=s&&e.push(n*t);return e.length>7?e.filter(t=>Math.abs(Math.log10(t)%1)<1e-6||Math.abs(Math.log10(t)%1-1)<1e-6):e}var W=[
["ttft","k1",1],["e2e","k0",2]],V=class extends P{log=!0;chosen=-1;range(){let s=1/0,e=0;for(let[t]of W)for(let n of this.shown(t))this.bench[t][n]>0&&(s=Math.min(
s,this.bench[t][n]),e=Math.max(e,this.bench[t][n]));return e===0&&(s=1e6,e=1e9),e*=1.1,s*=.9,this.log&&e/s<10&&(s=e/10),[s,e]}y(s,[e,t],n){return n.y+n.h*(this.
log?1-Math.log(s/e)/Math.log(t/e):1-s/t)}shown(s){let e=this.bench[s],{from:t,to:n}=this.sight();return Se(e,(i,o)=>this.when(o,e)>=t&&this.when(o,e)<=n)}near(s,e){
let t=this.area(),n=this.range(),i=-1,o=64;for(let[l]of W){let h=this.bench[l];for(let d of this.shown(l)){let u=h[d]>0?this.y(h[d],n,t):l==="e2e"&&this.failed(
d)?t.y+t.h-5:NaN,p=(this.at(this.when(d,h),t)-s)**2+(u-e)**2;p<=o&&(o=p,i=d)}}return i}failed(s){return this.bench.ttft[s]<0&&this.bench.e2e[s]<0}paint(s){let{ctx:e,
area:t,color:n}=s,i=this.bench,o=this.range(),[l,h]=o;if(this.shade(s),this.log){e.textAlign="right",e.textBaseline="middle";for(let d of Xe(l,h))e.fillStyle=n(
"line"),e.fillRect(t.x,Math.round(this.y(d,o,t)),t.w,1),e.fillStyle=n("soft"),e.fillText(v(d),t.x-6,this.y(d,o,t))}else this.yAxis(s,h,v);this.inside(s,()=>{for(let[
d,u,p]of W){let m=i.limits[d];m&&(!this.log||m>l)&&Ee(s,this.y(m,o,t),u),e.globalAlpha=.75;for(let c of this.shown(d))i[d][c]>0&&(e.fillStyle=n(i.touched[c]&p?"\
k4":u),e.beginPath(),e.arc(this.at(this.when(c,i[d]),t),this.y(i[d][c],o,t),2,0,7),e.fill());e.globalAlpha=1}e.fillStyle=n("high");for(let d of this.shown("e2e"))
this.failed(d)&&e.fillRect(this.at(i.at[d],t)-1,t.y+t.h-10,2,10)}),this.xAxis(s)}mark(s){super.mark(s);let{ctx:e,area:t,color:n}=s,i=this.chosen,o=this.bench,l=this.
range();i<0||this.inside(s,()=>{e.strokeStyle=n("mark"),e.lineWidth=2;for(let[h]of W)o[h][i]>0&&(e.beginPath(),e.arc(this.at(this.when(i,o[h]),t),this.y(o[h][i],
l,t),5,0,7),e.stroke())})}};function Ee({ctx:a,area:s,color:e},t,n){a.strokeStyle=e(n),a.lineWidth=1.5,a.setLineDash([6,4]),a.beginPath(),a.moveTo(s.x,t),a.lineTo(
s.x+s.w,t),a.stroke(),a.setLineDash([])}function C(a){return a.bin_ns>=1e9}var X=class extends P{paint(s){let e=this.bins(),t=this.fine!==null,n=this.top(t?e.tokens:
e.busiest);this.shade(s),this.yAxis(s,n,ae),this.inside(s,()=>{if(t)return this.stairs(s,e.tokens,n,"compute",!0);this.stairs(s,e.busiest,n,"compute",!C(e)),C(e)&&
this.stairs(s,e.tokens.map(i=>i/(e.bin_ns/1e9)),n,"k1",!0)}),this.xAxis(s)}title(){let s=v(this.bins().bin_ns);return this.fine?`Output tokens in each ${s}`:C(this.
bench)?`Output tokens in the seconds of each ${s}`:"Output tokens in the last second"}},U=class extends P{queue=[];paint(s){let{ctx:e,area:t,color:n}=s,i=this.bench,
o=this.bins(),{from:l,to:h}=this.sight(),d=this.queue.filter(p=>p.at>=l&&p.at<=h),u=Math.max(this.top(o.most),...d.map(p=>p.queued*1.06));this.shade(s),this.yAxis(
s,u,p=>T(String(p))),this.inside(s,()=>{this.stairs(s,o.most,u,"host",!0),i.embedding||this.stairs(s,o.decode,u,"k0",!1),this.queue.length>0&&this.queued(s,u),e.
fillStyle=n("high"),o.failed.forEach((p,m)=>{let c=this.at(o.from_ns+m*o.bin_ns,t);p&&e.fillRect(c,t.y+t.h-10,Math.max(this.at(o.from_ns+(m+1)*o.bin_ns,t)-c,2),
10)})}),this.xAxis(s)}queued({ctx:s,area:e,color:t},n){s.beginPath();for(let i of this.queue)s.lineTo(this.at(i.at,e),e.y+e.h*(1-i.queued/n));s.strokeStyle=t("k\
3"),s.lineWidth=1.5,s.stroke()}},J=class extends R{constructor(e,t,n){super(e,t,{left:64,bottom:26});this.spread=n;this.nines=Math.max(Math.log10(n.n),.31),this.
canvas.addEventListener("pointermove",i=>{let o=this.area(),l=1-Math.pow(10,-(i.offsetX-o.x)/o.w*this.nines),h=0;n.shares.forEach((d,u)=>d<=l&&(h=u)),this.point(
h,i.offsetX,i.offsetY)}),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.addEventListener(
"keydown",i=>{let o=n.shares.length-1,l=i.shiftKey?10:1;if(i.key==="ArrowRight")this.point(Math.min(this.i+l,o));else if(i.key==="ArrowLeft")this.point(Math.max(
this.i-l,0));else if(i.key==="Home")this.point(0);else if(i.key==="End")this.point(o);else if(i.key==="Escape")this.point(-1);else return;i.preventDefault()})}spread;other=null;i=-1;nines;x(e,t){
return t.x+t.w*Math.min(-Math.log10(Math.max(1-e,1e-12))/this.nines,1)}point(e,t,n){if(this.i=e,this.again(),e<0)return H();let i=this.spread,o=i.shares[e],l=this.
other,h=[["percentile",o===1?"longest":"p"+Number((o*100).toPrecision(6))],["value",v(i.values[e])]];l&&h.push(["before",v(Ue(l,o))]),F(this.canvas,t??this.x(i.
shares[e],this.area()),n??20,{title:i.title,rows:h})}paint(e){let{ctx:t,area:n,color:i}=e,o=this.spread,l=this.top(),h=u=>n.y+n.h*(1-u/l);this.yAxis(e,l,v),t.textBaseline=
"top";let d=-1/0;for(let[u,p]of[[0,"min"],[.5,"p50"],[.9,"p90"],[.99,"p99"],[.999,"p99.9"],[.9999,"p99.99"],[.99999,"p99.999"]]){if(-Math.log10(1-u)>this.nines)
break;let m=this.x(u,n),c=t.measureText(p).width,f=Math.min(m-c/2,n.x+n.w+8-c);t.fillStyle=i("line"),t.fillRect(Math.round(m),n.y,1,n.h),!(f<d+4)&&(t.fillStyle=
i("soft"),t.textAlign="left",t.fillText(p,f,n.y+n.h+6),d=f+c)}o.limit>0&&o.limit<l&&Ee(e,h(o.limit),"high");for(let[u,p]of[[this.other,"k4"],[o,"k0"]])u&&(t.beginPath(),
u.values.forEach((m,c)=>t.lineTo(this.x(u.shares[c],n),h(m))),t.strokeStyle=i(p),t.lineWidth=2,t.stroke())}mark({ctx:e,area:t,color:n}){if(this.i<0)return;let i=this.
spread,o=this.top();e.fillStyle=n("mark"),e.beginPath(),e.arc(this.x(i.shares[this.i],t),t.y+t.h*(1-i.values[this.i]/o),3.5,0,7),e.fill()}top(){return Math.max(
this.spread.values.at(-1)??0,this.other?.values.at(-1)??0)*1.06||1}};function Ue(a,s){let e=a.shares.findIndex(t=>t>=s);return a.values[e<0?a.values.length-1:e]}function le(a){return r("div",null,r("div",{class:"scroll",role:"region",tabindex:"0","aria-label":a.title+", table"},r("table",null,r("thead",null,r("tr",null,
...a.cols.map(s=>r("th",{scope:"col",class:s.right?"r":void 0,title:s.help},s.name)))),r("tbody",null,...a.rows.map(s=>r("tr",null,...s.cells.map(Je)))))),a.omitted&&
r("p",{class:"soft"},a.omitted))}function Je(a){return r("td",{class:a.right?"r":a.wrap?"w":a.short?"n":void 0},a.code?r("code",{title:a.full},a.text):a.text)}function Pe(a,s){let e=0,t=a.length;for(;e<t;){let n=e+t>>1;a[n]<s?e=n+1:t=n}return e}function j(a){let s=a.dp_rank>=0?"DP"+String(a.dp_rank).padStart(2,"0"):"";
return[a.server,s].filter(e=>e!=="").join(" ")||"steps"}var _=18,Y=class extends P{constructor(e,t,n,i){super(e,i.lanes.length*_+12,t,n,!1);this.steps=i;this.whenClicked(
(o,l)=>{let h=this.stepAt(o,l);h&&this.whenChosen(h)})}steps;lit=null;whenChosen=()=>{};light(e){this.lit=e&&this.steps.lanes.map((t,n)=>new Set(e.filter(i=>i.lane===
n).map(i=>i.step))),this.draw()}rows(){return this.steps.lanes.length}rowAt(e){return Math.min(Math.max(Math.floor((e-this.area().y)/_),0),this.rows()-1)}stepAt(e,t){
let n=this.area(),i=this.rowAt(t),o=this.steps.lanes[i];if(!o||t<n.y||t>n.y+n.h)return null;let l=this.colAt(e)*this.bench.bin_ns,h=1.5*((this.view.hi-this.view.
lo)*this.bench.bin_ns)/n.w,d=Pe(o.to,l-h);return d<o.to.length&&o.from[d]<=l+h?{lane:i,step:d}:null}paint(e){let{ctx:t,area:n,color:i}=e,o=this.steps.kinds.map(
d=>i(oe(d)));this.shade(e);let{from:l,to:h}=this.sight();t.textAlign="right",t.textBaseline="middle",this.steps.lanes.forEach((d,u)=>{let p=n.y+u*_;t.fillStyle=
i("soft"),t.fillText(Ye(t,j(d),n.x-8),n.x-6,p+_/2),t.fillStyle=i("line"),t.fillRect(n.x,p+_-1,n.w,1),this.inside(e,()=>{let m=-1/0;for(let c=Pe(d.to,l);c<d.from.
length&&d.from[c]<=h;c++){let f=this.lit===null||this.lit[u].has(c),g=this.at(d.from[c],n),x=Math.max(this.at(d.to[c],n),g+.5);x<m+.5&&!f||(t.globalAlpha=f?1:.2,
t.fillStyle=o[d.kind[c]],t.fillRect(g,p+3,x-g-(x-g>3?1:0),_-6),m=Math.max(m,x))}t.globalAlpha=1})}),this.xAxis(e)}point(e,t,n,i){super.point(e,t,n,i),this.canvas.
style.cursor=n!==void 0&&i!==void 0&&this.stepAt(n,i)?"pointer":""}tipAt(e,t){let n=this.stepAt(e,t);if(!n)return null;let i=this.steps.lanes[n.lane];return{title:this.
steps.names[i.name[n.step]],rows:[["step",`${n.step}, ${this.steps.kinds[i.kind[n.step]]}`],["took",v(i.to[n.step]-i.from[n.step])],["from",v(i.from[n.step])],[
"requests of this load in it",T(String(i.batch[n.step]))]]}}};function Ye(a,s,e){if(a.measureText(s).width<=e)return s;for(;s.length>1&&a.measureText(s+"…").width>
e;)s=s.slice(0,-1);return s+"…"}function Ge(a){return Math.min(Math.max(a*9,40),360)}var G=class extends P{constructor(e,t,n,i){super(e,Ge(i.rows)+34,t,n);this.
requests=i;this.whenClicked((o,l)=>{let h=this.barAt(o,l);h>=0&&this.whenChosen(this.requests.index[h])})}requests;marked=-1;others=new Set;whenChosen=()=>{};show(e){
this.requests=e,this.draw()}light(e,t){this.marked=e,this.others=new Set(t),this.draw()}y(e,t){let n=t.h/Math.max(this.requests.rows,1);return[t.y+e*n,Math.max(
n-(n>3?1:0),.7)]}barAt(e,t){let n=this.area(),i=this.colAt(e)*this.bench.bin_ns,o=this.requests,l=2*((this.view.hi-this.view.lo)*this.bench.bin_ns)/n.w,h=Math.floor(
(t-n.y)/n.h*o.rows),d=Math.max(Math.ceil(2*o.rows/n.h)-1,0),u=-1;for(let p=0;p<o.index.length;p++)Math.abs(o.row[p]-h)>d||o.sent[p]>i+l||o.done[p]<i-l||(u<0||Math.
abs(o.row[p]-h)<Math.abs(o.row[u]-h))&&(u=p);return u}paint(e){let{ctx:t,area:n,color:i}=e,o=this.requests;this.shade(e),t.fillStyle=i("soft"),t.textAlign="righ\
t",t.textBaseline="top",t.fillText(T(String(o.rows)),n.x-6,n.y),t.fillText("at once",n.x-6,n.y+13);let l={wait:i("k1"),decode:i("k0"),end:i("k4"),failed:i("high")};
this.inside(e,()=>{for(let h=0;h<o.index.length;h++){let[d,u]=this.y(o.row[h],n),p=o.index[h]===this.marked;t.globalAlpha=this.marked<0&&this.others.size===0||p||
this.others.has(o.index[h])?o.touched[h]&&!p?.75:1:.18;let m=(g,x,b,k=1)=>{let M=Math.max(this.at(g,n),n.x-1),O=Math.min(this.at(x,n),n.x+n.w+1);O<n.x||M>n.x+n.
w||x<=g||(t.fillStyle=b,t.fillRect(M,d+u*(1-k)/2,Math.max(O-M,.5),u*k))};if(o.failed[h]){m(o.sent[h],o.done[h],l.failed);continue}let c=o.first[h]<0?o.done[h]:o.
first[h],f=Math.max(o.last[h],c);m(o.sent[h],c,l.wait,.55),m(c,f,l.decode),m(f,o.done[h],l.end,.3)}t.globalAlpha=1}),this.xAxis(e)}mark(e){super.mark(e);let{ctx:t,
area:n,color:i}=e,o=this.requests.index.indexOf(this.marked);if(o<0)return;let[l,h]=this.y(this.requests.row[o],n);this.inside(e,()=>{t.strokeStyle=i("mark"),t.
lineWidth=1.5;let d=this.at(this.requests.sent[o],n),u=this.at(this.requests.done[o],n);t.strokeRect(d-1,l-1,Math.max(u-d+2,3),h+2)})}point(e,t,n,i){super.point(
e,t,n,i),this.canvas.style.cursor=n!==void 0&&i!==void 0&&this.barAt(n,i)>=0?"pointer":""}tipAt(e,t){let n=this.barAt(e,t),i=this.requests;if(n<0)return null;let o=[
["sent at",v(i.sent[n])]];return i.failed[n]?o.push(["failed after",v(i.done[n]-i.sent[n])]):(i.first[n]>=0&&o.push(["TTFT",v(i.first[n]-i.sent[n])]),o.push(["E\
2E",v(i.done[n]-i.sent[n])])),i.touched[n]&&o.push(["touched","by the captured window"]),{title:"request "+i.index[n],rows:o}}};function Ae(a){return{queue:"idle",prefill:"k1",decode:"k0",wait:"wait",reply:"k2",unknown:"unknown"}[a]}function qe(a){return["queue","prefill","wait","decode",
"reply","unknown"].map(e=>({of:e,ns:a.filter(t=>t.of===e).reduce((t,n)=>t+n.ns,0)})).filter(e=>e.ns>0)}var Ce={queue:"queue",prefill:"prefill",wait:"wait",decode:"\
decode",reply:"reply",unknown:"not recorded"};function Q(a,s=!1){let e=a.reduce((i,o)=>i+o.ns,0)||1,t=r("div",{class:"parts","aria-hidden":"true"},...a.map(i=>{
let o=r("i",{title:`${i.name} ${v(i.ns)}`});return o.style.width=`${100*i.ns/e}%`,o.style.background=`var(--${Ae(i.of)})`,o})),n=i=>{let o=r("i");return o.style.
background=`var(--${Ae(i)})`,o};return s?r("div",null,t,r("p",{class:"keys"},...qe(a).map(i=>r("span",{class:"key"},n(i.of),Ce[i.of]+" ",r("b",null,v(i.ns)))))):
r("div",null,t,r("p",{class:"keys sums"},...qe(a).map(i=>r("span",{class:"key"},n(i.of),Ce[i.of]+" ",r("b",null,v(i.ns))))),r("table",{class:"split"},r("tbody",
null,...[...a].sort((i,o)=>o.ns-i.ns).map(i=>r("tr",null,r("th",{scope:"row"},n(i.of),i.name,i.more&&r("small",null,i.more)),r("td",null,v(i.ns)),r("td",null,Me(
i.ns/e)))))))}function Le(a,s,e){let t=a.moments.find(i=>i.name==="sent")?.at??a.moments[0]?.at??0;return r("aside",{class:"panel","aria-label":"Request "+a.index},
r("header",null,r("h2",null,"Request ",String(a.index),a.turn>0&&`, turn ${a.turn+1}`),r("button",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:e.
close}},"×")),a.id!==""&&r("p",{class:"id"},r("code",null,a.id)),a.failure!==""&&r("p",{class:"caveat"},"failed: "+a.failure+(a.error?": "+a.error:"")),a.ttft&&
Qe("TTFT",a.ttft),a.why!==""&&r("p",{class:"soft"},a.why),Ze(a,s,e),a.gaps.length>0&&r("section",null,r("h3",null,"Its longest waits for a token"),...a.gaps.slice(
0,4).map(i=>r("div",{class:"gap"},r("p",null,r("b",null,v(i.ns)),` until event ${i.event}`),Q(i.parts,!0)))),a.with.length>0&&r("section",null,r("h3",null,"In t\
he same steps"),r("p",{class:"chips"},...a.with.map(i=>r("button",{class:"chip",title:i.id+`: ${i.steps} steps together`,on:{click:()=>e.request(i.index)}},String(
i.index),r("small",null,"×"+i.steps))))),r("section",null,r("h3",null,"Moments"),r("dl",null,...a.moments.flatMap(i=>[r("dt",null,i.name),r("dd",null,i.name===
"sent"?v(i.at):(i.at<t?"−":"+")+v(Math.abs(i.at-t)))]))),r("section",null,r("h3",null,"Facts"),r("dl",null,...a.facts.flatMap(([i,o])=>[r("dt",null,i),r("dd",
null,o)]))))}function Qe(a,s){return r("section",null,r("h3",null,a+" ",r("b",null,v(s.ns)),s.place&&r("span",{class:"soft"}," on "+s.place)),Q(s.parts))}function Ze(a,s,e){
if(!s||a.steps.length===0)return null;let t=[...new Set(a.steps.map(n=>n.lane))];return r("section",null,r("h3",null,"Its steps"),...t.map(n=>{let i=a.steps.filter(
h=>h.lane===n).map(h=>h.step),o=s.lanes[n],l=e.timeline(n,o.from[i[0]],o.to[i[i.length-1]]);return r("p",null,`${j(o)}: ${i.length} of steps ${i[0]}–${i[i.length-
1]} `,l&&r("a",{href:l},"see them in the timeline"))}))}var et=2e5,tt=120,Z=class{constructor(s,e,t,n,i){this.store=s;this.run=e;this.requests=t;let o=e.plots;this.view=new K(o.running.length,et/o.bin_ns);let l=b=>r(
"canvas",{tabindex:"0",role:"img","aria-label":b}),h=(b,k,M,...O)=>r("figure",null,r("figcaption",null,typeof b=="string"?r("span",null,b):b,r("span",{class:"ke\
ys"},...k.map(([je,$e])=>Re(je,$e)),...O)),M),d=[...o.steady.length?[["info","steady"]]:[],...o.profiled.length?[["k3","captured window"]]:[]],u=r("input",{type:"\
checkbox"});u.checked=!0,u.addEventListener("change",()=>{this.latency.log=u.checked,this.latency.draw()});let p=l(`Latency of requests by the time of ${o.at_once?
"their end":"sending"}`);this.latency=new V(p,220,o,this.view),this.latency.whenClicked((b,k)=>{let M=this.latency.near(b,k);this.choose(M<0?null:o.index[M])});
let m=new U(l("Requests under way over time"),100,o,this.view,!1);m.queue=e.server,this.binned.push(m),this.plots.push(this.latency,m);let c=o.embedding?null:new X(
l("Output tokens a second over time"),100,o,this.view,!1);c&&(this.tokens=c,this.rate.textContent=c.title(),this.binned.push(c),this.plots.push(c)),this.bars=new G(
l("Requests as bars over time"),o,this.view,t),this.bars.whenChosen=b=>this.choose(b),this.plots.push(this.bars);let f=o.touched.some(b=>b>0)?[["k4","touched by\
 it: in no figure"]]:[],g=o.embedding?[["k0","E2E"]]:[["k1","TTFT"],["k0","E2E"]],x=o.spreads.map(b=>{let k=new J(l(b.title+" by percentile"),190,b);return k.other=
n?.plots.spreads.find(M=>M.name===b.name)??null,this.plots.push(k),h(b.title,k.other?[["k0","this run"],["k4","before"]]:[],k.canvas,r("span",{class:"soft"},b.note))});
this.el=r("div",{class:"run"},r("header",null,r("div",{class:"what"},r("h2",null,e.title),r("p",{class:"verdict"},e.verdict),...e.next.map(b=>r("p",{class:"next"},
b)),r("p",{class:"facts"},[e.id,...e.tags,...e.head].join(" · "))),r("div",{class:"choices"},this.repetitions(),r("label",null,"against ",this.against))),r("di\
v",{class:"cards"},...e.cards.map((b,k)=>r("div",{class:"card"},r("span",null,b.name),r("b",null,b.value),r("span",null,b.more),n?.cards[k]?.name===b.name&&r("s\
pan",{class:"before"},"before: "+n.cards[k].value)))),i&&nt(i),r("div",{class:"axis"},r("div",{class:"plots"},h(o.embedding?"E2E of each request":"TTFT and E2E \
of each request",[...g,...f,["high","failed"],...d],p,r("label",null,u," logarithmic")),c&&h(this.rate,C(o)?[["compute","busiest second"],["k1","mean"]]:[],c.canvas),
h("Requests",[["host","under way"],...o.embedding?[]:[["k0","in decode"]],...e.server.length?[["k3","queued, as the server says"]]:[]],m.canvas),this.strip,h("R\
equests one by one",[["k1","until the first token"],["k0","decode"],["k4","end"],["high","failed"]],this.bars.canvas,this.note),r("p",{class:"hint"},"Drag to zo\
om all, double click for all of the run. Click a dot or a bar for what its request waited for.")),this.side),this.slow,r("section",null,r("h3",null,"Distributio\
ns"),r("div",{class:"spreads"},...x)),r("section",{class:"said"},r("h3",null,"What else is known"),r("dl",null,...e.facts.flatMap(b=>[r("dt",null,b.label),r("dd",
{class:b.severity&&"fact-"+b.severity},b.text)]))),...e.tables.map(b=>r("section",null,r("h3",null,b.title),le(b)))),this.view.whenMoved=()=>this.moved(),e.recorded&&
w(this.strip,r("p",{class:"soft"},"Reading the recorded steps…"))}store;run;requests;el;against=r("select",{"aria-label":"Compare with"});view;plots=[];latency;tokens=null;rate=r(
"span");binned=[];bars;lanes=null;steps=null;strip=r("div",{class:"strip"});slow=r("section",{class:"slow"});side=r("div",{class:"side"});note=r("span",{class:"\
soft"});chosen="";timer=0;start(){this.follow(this.store.params),this.restyle()}restyle(){for(let s of this.plots)s.draw()}close(){clearTimeout(this.timer);for(let s of this.
plots)s.drop()}repetitions(){let{run:s}=this;if(s.reps<2)return null;let e=r("select",{"aria-label":"Repetition"},...Array.from({length:s.reps},(t,n)=>r("option",
{value:n},`run ${n+1} of ${s.reps}`)));return e.value=String(s.rep),e.addEventListener("change",()=>this.store.set({rep:e.value,req:null,pass:null,lane:null},"p\
ush")),e}follow(s){let e=this.run.plots.bin_ns,t=this.run.plots.running.length*e,n=q(s,"b0",0)/e,i=q(s,"b1",t)/e;(Math.abs(n-this.view.lo)>1e-6||Math.abs(i-this.
view.hi)>1e-6)&&this.view.zoom(n,i);let o=JSON.stringify([s.req,s.lane,s.pass]);o!==this.chosen&&(this.chosen=o,s.req!==void 0?this.showRequest(q(s,"req",-1)):s.
pass!==void 0&&this.steps?this.showStep({lane:q(s,"lane",0),step:q(s,"pass",-1)}):this.bare())}moved(){let s=this.run.plots.bin_ns,e=this.view.hi-this.view.lo>=
this.view.cols-1e-9;this.store.set({b0:e?null:this.view.lo*s,b1:e?null:this.view.hi*s}),clearTimeout(this.timer),this.timer=window.setTimeout(()=>{this.refine()},
tt)}async refine(){let s=this.run.plots,{lo:e,hi:t}=this.view,n={run:this.run.id,rep:this.run.rep,from:Math.round(Math.max(e*s.bin_ns,0)),to:Math.round(t*s.bin_ns)},
i=t-e<this.view.cols/2&&s.bin_ns>1e6,[o,l]=await Promise.all([i?y("load/timeline",n):null,this.requests.of>this.requests.index.length||this.requests.of<this.run.
plots.at.length?y("load/requests",n):null]);if(!(e!==this.view.lo||t!==this.view.hi)){for(let h of this.binned)h.fine=o,h.draw();this.tokens&&(this.rate.textContent=
this.tokens.title()),l&&this.take(l)}}take(s){this.requests=s,this.bars.show(s);let e=s.of-s.index.length;this.note.textContent=e>0?`${s.index.length} of ${s.of}\
 in sight`:""}zoom(s){let e=this.view.col>=0?this.view.col+.5:(this.view.lo+this.view.hi)/2,t=(this.view.hi-this.view.lo)/2*s;this.view.zoom(e-t,e+t)}pan(s){let e=(this.
view.hi-this.view.lo)*s;this.view.zoom(this.view.lo+e,this.view.hi+e)}whole(){this.view.zoom(0,this.view.cols)}captured(){let s=this.steps?.lanes.flatMap(o=>o.windows)??
[],e=s.length?s:this.run.plots.profiled;if(e.length===0)return;let t=Math.min(...e.map(o=>o.from)),n=Math.max(...e.map(o=>o.to)),i=(n-t)*.03;this.view.zoom((t-i)/
this.run.plots.bin_ns,(n+i)/this.run.plots.bin_ns)}choose(s){this.store.set({req:s,lane:null,pass:null},"push")}release(){this.store.params.req!==void 0||this.store.
params.pass!==void 0?this.choose(null):this.whole()}next(s){let e=this.requests.index,t=e.indexOf(q(this.store.params,"req",-1)),n=e[t<0?s>0?0:e.length-1:Math.min(
Math.max(t+s,0),e.length-1)];n!==void 0&&this.store.set({req:n,lane:null,pass:null})}bare(){this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,[]),this.
lanes?.light(null),this.panel(null)}panel(s){w(this.side,s),this.el.classList.toggle("open",s!==null)}async showRequest(s){let e=this.chosen,t=await y("load/req\
uest",{run:this.run.id,rep:this.run.rep,index:s});e===this.chosen&&(this.latency.chosen=this.run.plots.index.indexOf(s),this.latency.again(),this.bars.light(s,t.
with.map(n=>n.index)),this.lanes?.light(t.steps.length?t.steps:null),this.panel(Le(t,this.steps,{request:n=>this.choose(n),timeline:(n,i,o)=>this.timeline(n,i,o),
close:()=>this.choose(null)})))}async showStep(s){let e=this.chosen,t=this.steps?.lanes[s.lane],n=await y("load/step",{run:this.run.id,lane:s.lane,step:s.step});
if(e!==this.chosen||!this.steps||!t)return;this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,n.with.map(o=>o.index)),this.lanes?.light([s]);let i=this.
timeline(s.lane,t.from[s.step],t.to[s.step]);this.panel(r("aside",{class:"panel","aria-label":"Step "+s.step},r("header",null,r("h2",null,`Step ${s.step}`),r("b\
utton",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:()=>this.choose(null)}},"×")),r("p",null,r("code",null,this.steps.names[t.name[s.step]])),
r("dl",null,r("dt",null,"where"),r("dd",null,j(t)),r("dt",null,"kind"),r("dd",null,this.steps.kinds[t.kind[s.step]]),r("dt",null,"from"),r("dd",null,v(t.from[s.
step])),r("dt",null,"took"),r("dd",null,v(t.to[s.step]-t.from[s.step]))),i&&r("p",null,r("a",{href:i},"see it in the timeline")),r("section",null,r("h3",null,n.
with.length?"Requests in it":"No request of this load was in it"),r("p",{class:"chips"},...n.with.map(o=>r("button",{class:"chip",title:o.id,on:{click:()=>this.
choose(o.index)}},String(o.index)))))))}timeline(s,e,t){let n=this.steps?.lanes[s];if(!n)return null;let i=Math.max((t-e)*.05,1e4);return S(E(this.store.params,
{tab:"timeline",c:this.run.id,t0:e+n.shift-i,t1:t+n.shift+i}))}join(s){this.steps=s;let e=r("canvas",{tabindex:"0",role:"img","aria-label":"Recorded steps over \
time"});w(this.strip,r("figure",null,r("figcaption",null,r("span",null,"Steps that were recorded"),r("span",{class:"keys"},...s.kinds.map((t,n)=>Re(["k0","k1","\
k2","k3","k4"][["decode","prefill","mixed","other","idle"].indexOf(t)]??"k"+n%5,t)),r("button",{class:"link",title:"Key: c",on:{click:()=>this.captured()}},"zoo\
m to them"))),e)),this.lanes=new Y(e,this.run.plots,this.view,s),this.lanes.whenChosen=t=>this.store.set({req:null,lane:t.lane,pass:t.step},"push"),this.plots.push(
this.lanes),this.lanes.draw(),w(this.slow,r("h3",null,"What the slow ones waited for",r("span",{class:"soft"},s.steps_by==="time"?", by time":", by request id")),
r("div",{class:"tails"},this.run.plots.embedding?null:this.tail("TTFT",s.ttft),this.tail("Time between tokens",s.itl)),...s.notes.map(t=>r("p",{class:"soft"},t))),
this.chosen="",this.follow(this.store.params)}unjoined(s){w(this.strip,r("p",{class:"soft"},"What the requests waited for in recorded steps is not known: "+s))}tail(s,e){
let t=[...new Set(e.cases)];return r("div",null,r("h4",null,s,r("span",{class:"soft"},e.n?`, p99 of ${e.n}: ${v(e.p99_ns)}`:"")),t.length===0?r("p",{class:"soft"},
"none in the recorded window"):Q(e.parts,!0),e.below&&r("p",{class:"soft"},"none at or above p99 is in the recorded window: this is the slowest one in it"),r("p",
{class:"chips"},...t.slice(0,24).map(n=>r("button",{class:"chip",title:"what request "+n+" waited for",on:{click:()=>this.choose(n)}},String(n)))))}};function Re(a,s){
let e=r("i");return e.style.background=`var(--${a})`,r("span",{class:"key"},e,s)}function nt(a){return r("section",{class:"compared"},r("h3",null,"B against A"),
r("dl",null,r("dt",null,"A"),r("dd",null,a.sides[0]),r("dt",null,"B"),r("dd",null,a.sides[1])),r("p",{class:"verdict"},a.verdict),a.unlike.length>0&&r("ul",null,
...a.unlike.map(s=>r("li",null,s))),...a.tables.map(s=>le(s)),...a.notes.map(s=>r("p",{class:"soft"},s)))}function _e(a,s){return JSON.stringify([a.run??s.session.run,a.rep,a.vs])}var he=class{constructor(s){this.context=s;let{keys:e}=s,t=n=>()=>this.page&&n(this.page);
e.bind("w +","Benchmark","zoom in",t(n=>n.zoom(.5))),e.bind("s -","Benchmark","zoom out",t(n=>n.zoom(2))),e.bind("a","Benchmark","go to earlier",t(n=>n.pan(-.25))),
e.bind("d","Benchmark","go to later",t(n=>n.pan(.25))),e.bind("0","Benchmark","show the whole run",t(n=>n.whole())),e.bind("c","Benchmark","show the captured wi\
ndow",t(n=>n.captured())),e.bind("j","Benchmark","the next request",t(n=>n.next(1))),e.bind("k","Benchmark","the request before",t(n=>n.next(-1))),e.bind("Escap\
e","Benchmark","let go of what is chosen",t(n=>n.release())),this.open()}context;el=r("div",{class:"bench"});page=null;shown="";gone=new AbortController;update(s){
_e(s,this.context)===this.shown?this.page?.follow(s):this.open()}restyle(){this.page?.restyle()}close(){this.gone.abort(),this.page?.close()}open(){let{store:s,
session:e}=this.context,t=s.params,n=t.run??e.run;this.close(),this.page=null,this.shown=_e(t,this.context),this.gone=new AbortController,n===""?this.choose():this.
show(n,t.rep,t.vs)}async choose(){let{signal:s}=this.gone,e=await y("load/runs",{},s);if(s.aborted)return;if(e.length===0){w(this.el,r("div",{class:"none"},r("h\
2",null,"No benchmark run yet"),r("p",null,"One is kept by each ",r("code",null,"stepscope bench serving --url http://HOST:30000"),"; with ",r("code",null,"--pr\
ofile")," its steps are recorded meanwhile.")));return}let t=["request throughput","output throughput","TTFT p50","TTFT p99","ITL p50","ITL p99"];w(this.el,r("h\
2",null,"Benchmark runs"),r("div",{class:"scroll"},r("table",null,r("thead",null,r("tr",null,r("th",null,"run"),r("th",null,"model"),r("th",null,"tags"),...t.map(
n=>r("th",{class:"r"},n)),r("th",null,"steps"))),r("tbody",null,...e.map(n=>r("tr",null,r("td",null,r("a",{href:this.at({run:n.id})},n.id),n.status!=="complete"&&
r("span",{class:"soft"}," "+n.status)),r("td",null,n.model),r("td",null,n.tags.join(", ")),...t.map(i=>{let o=n.numbers.find(l=>l.name===i);return r("td",{class:"\
r"},o?`${o.value.toPrecision(3)} ${o.unit??""}`:"–")}),r("td",null,n.traces>0?"recorded":"")))))))}at(s){return S(E(this.context.store.params,{tab:"bench",...s}))}async show(s,e,t){
let{signal:n}=this.gone,{store:i,session:o}=this.context,l={run:s,rep:e},h=t===void 0||t===s?null:{run:t},[d,u,p,m]=await Promise.all([y("load",l,n),y("load/req\
uests",l,n),h&&y("load",h,n),h&&y("load/compare",{run:s,vs:t},n)]);if(n.aborted)return;let c=this.page=new Z(i,d,u,p,m);w(this.el,c.el),c.start();let f=c.against;
if(!o.exported){let g=await y("load/runs",{},n);if(n.aborted)return;w(f,r("option",{value:""},"no other run"),...g.filter(x=>x.id!==s).map(x=>r("option",{value:x.
id},[x.id,...x.tags].join(" ")))),f.value=t??"",f.addEventListener("change",()=>i.set({vs:f.value||null},"push")),f.disabled=f.options.length<2}if(d.recorded)try{
let g=await y("load/steps",{run:s},n);!n.aborted&&g.rep===d.rep?c.join(g):n.aborted||c.unjoined(`steps were recorded in repetition ${g.rep+1} of this load`)}catch(g){
if(n.aborted)return;c.unjoined(g instanceof Error?g.message:String(g))}}},ze={id:"bench",title:"Benchmark",needs:"runs",open:a=>new he(a)};var Be={id:"live",title:"Live",needs:"server",open:()=>({el:r("div",null)})};var de={id:"runs",title:"Runs",needs:"runs",open:()=>({el:r("div",null)})};var ue=[se,xe,we,ye,ze,Be,de],A=document.documentElement,He=matchMedia("(prefers-color-scheme: dark)");function ee(a){if(a instanceof DOMException&&a.name==="Ab\
ortError")return;let s=a instanceof Error?a.message:String(a);A.dataset.error??=s,$.hidden=!1,w($,s)}addEventListener("error",a=>ee(a.error??a.message));addEventListener(
"unhandledrejection",a=>ee(a.reason));var $=r("p",{class:"trouble",role:"alert",hidden:!0}),z=r("main",{id:"main",tabindex:"-1"}),pe=class{constructor(s){this.session=
s;let e=ue.filter(t=>this.offers(t));document.body.replaceChildren(r("a",{class:"skip",href:"#main",on:{click:t=>(t.preventDefault(),z.focus())}},"Skip to the v\
iew"),r("header",{class:"bar"},r("h1",null,"stepscope"),this.nav,r("span",{class:"space"}),this.picker,r("button",{class:"quiet",title:"Light or dark (key: \\)",
"aria-label":"Light or dark",on:{click:()=>this.turn()}},"◐"),r("button",{class:"quiet",title:"Keys (key: ?)","aria-label":"Keys",on:{click:()=>dispatchEvent(
new KeyboardEvent("keydown",{key:"?"}))}},"?")),$,z),e.forEach((t,n)=>this.keys.bind(String(n+1),"Everywhere","show "+t.title,()=>this.open(t.id))),this.keys.bind(
"\\","Everywhere","light or dark",()=>this.turn()),this.picker.addEventListener("change",()=>this.store.go(E(this.store.params,{tab:this.tab().id,c:this.picker.
value}))),this.store.follow((t,n)=>this.change(t,n)),He.addEventListener("change",()=>this.paint()),fe(()=>this.ready()),this.change(this.store.params,{})}session;store=new D;keys=new N;view=null;shown="";loose=[];nav=r(
"nav",{"aria-label":"Views"});picker=r("select",{"aria-label":"Capture",class:"capture"});offers(s){switch(s.needs){case"capture":return this.session.captures.length>
0||this.session.runs;case"server":return!this.session.exported;case"runs":return this.session.runs;case"nothing":return!0}}tab(){let{tab:s}=this.store.params,e=ue.
filter(n=>this.offers(n)),t=this.session.captures.length>0?se:de;return e.find(n=>n.id===s)??e.find(n=>n===t)??e[0]}open(s){this.store.go(E(this.store.params,{tab:s}))}turn(){
this.store.set({theme:A.dataset.theme==="dark"?"light":"dark"})}paint(){let{theme:s}=this.store.params,e=A.dataset.theme;A.dataset.theme=s==="light"||s==="dark"?
s:He.matches?"dark":"light",A.dataset.theme!==e&&this.view?.restyle?.()}change(s,e){delete A.dataset.ready,this.paint();let t=this.tab(),n=this.session.captures,
i=n.find(l=>l.id===s.c)??(s.c===void 0?n[0]:void 0),o=JSON.stringify([t.id,s.c??n[0]?.id]);o===this.shown?this.view?.update?.(s,e):this.show(t,o,{session:this.session,
store:this.store,keys:this.scoped(),capture:i}),this.head(t,s),ne()&&this.ready()}scoped(){for(let t of this.loose.splice(0))t();let s=this.keys,e=this.loose;return Object.
assign(Object.create(s),{bind(...t){let n=s.bind(...t);return e.push(n),n}})}show(s,e,t){this.view?.close?.(),this.shown=e,$.hidden=!0,delete A.dataset.error;try{
this.view=s.open(t),z.className="view-"+s.id,z.replaceChildren(this.view.el)}catch(n){this.view=null,z.replaceChildren(),ee(n)}}head(s,e){w(this.nav,...ue.filter(
n=>this.offers(n)).map(n=>r("a",{href:S(E(e,{tab:n.id})),"aria-current":n===s?"page":null},n.title)));let t=this.session.captures;this.picker.hidden=t.length<2,
this.picker.hidden||(w(this.picker,...t.map(n=>r("option",{value:n.id},n.title))),this.picker.value=e.c??t[0].id),document.title=`${s.title} · ${t.find(n=>n.id===
e.c)?.title??t[0]?.title??"runs"} · stepscope`}ready(){requestAnimationFrame(()=>requestAnimationFrame(()=>{ne()&&(A.dataset.ready="1")}))}};document.body.replaceChildren(
$,z);y("session").then(a=>new pe(a)).catch(ee);})();
