"use strict";(()=>{var B=class extends Error{constructor(e,t){super(e);this.status=t}status},be=(()=>{let a=document.getElementById("answers");return a===null?null:JSON.parse(a.textContent??
"{}")})();function De(a,s={}){let e=new URLSearchParams;for(let n of Object.keys(s).sort()){let i=s[n];i!=null&&i!==""&&e.set(n,String(i))}let t=e.toString();return"\
api/"+a+(t===""?"":"?"+t)}var se=0,ge=()=>{};function ve(a){ge=a}async function Fe(a){se++;try{return await a}finally{setTimeout(()=>{--se===0&&ge()})}}function ie(){
return se===0}async function Ie(a,s){let e;try{e=await fetch(a,s)}catch(i){throw s.signal?.aborted?i:new B("stepscope does not answer: has it been ended?",0)}if(e.
ok)return e;let t=await e.text(),n=t;try{n=JSON.parse(t).error}catch{}throw new B(n,e.status)}function Ke(a){let s=be?.[a];if(s===void 0)throw new B("this is no\
t part of an exported page: open the capture with stepscope view",404);return s}function M(a,s={},e){let t=De(a,s);return Fe((async()=>be!==null?Ke(t).json:await(await Ie(
t,e?{signal:e}:{})).json())())}function r(a,s=null,...e){let t=document.createElement(a);for(let[n,i]of Object.entries(s??{}))if(!(i==null||i===!1))if(n==="on")for(let[o,l]of Object.entries(i))
t.addEventListener(o,l);else n==="data"?Object.assign(t.dataset,i):n==="class"?t.className=String(i):t.setAttribute(n,i===!0?"":String(i));return xe(t,...e),t}function xe(a,...s){
for(let e of s)e==null||e===!1||a.append(typeof e=="number"?String(e):e)}function y(a,...s){a.replaceChildren(),xe(a,...s)}var We={ArrowLeft:"←",ArrowRight:"→",ArrowUp:"↑",ArrowDown:"↓",Escape:"Esc"," ":"Space",Enter:"Enter"},F=class{bindings=[];dialog=null;constructor(){addEventListener(
"keydown",s=>this.press(s)),this.bind("?","Everywhere","show the keys",()=>this.show())}bind(s,e,t,n){let i={keys:s===" "?[" "]:s.split(" "),help:t,group:e,run:n};
return this.bindings.push(i),()=>{this.bindings=this.bindings.filter(o=>o!==i)}}press(s){if(s.defaultPrevented||this.dialog?.open)return;let e=s.target;if(e instanceof
HTMLInputElement&&!["checkbox","radio","button","range"].includes(e.type)||e instanceof HTMLSelectElement||e instanceof HTMLTextAreaElement){s.key==="Escape"&&e.
blur();return}if(e instanceof HTMLInputElement&&e.type==="range"&&s.key.startsWith("Arrow"))return;let n=(s.ctrlKey||s.metaKey?"Ctrl+":"")+(s.altKey?"Alt+":"")+
(s.shiftKey&&s.key.length>1?"Shift+":"")+s.key,i=this.bindings.findLast(o=>o.keys.includes(n));i!==void 0&&(s.preventDefault(),i.run(s))}show(){this.dialog??=document.
body.appendChild(r("dialog",{class:"keys-dialog","aria-label":"Keys"}));let s=new Map;for(let e of this.bindings)s.set(e.group,[...s.get(e.group)??[],e]);y(this.
dialog,r("h2",null,"Keys"),r("div",{class:"keys-groups"},...[...s].map(([e,t])=>r("section",null,r("h3",null,e),r("dl",null,...t.flatMap(n=>[r("dt",null,...n.keys.
flatMap((i,o)=>[o>0&&" ",r("kbd",null,i.split("+").map(l=>We[l]??(l||"+")).join(" + "))])),r("dd",null,n.help)]))))),r("form",{method:"dialog"},r("button",{class:"\
button"},"Close"))),this.dialog.showModal()}};function we(a){let s=Object.create(null);for(let[e,t]of new URLSearchParams(a.replace(/^#/,"")))e!==""&&t!==""&&(s[e]=t);return s}function E(a){let s=Object.keys(
a).sort((e,t)=>+(t==="tab")-+(e==="tab")||(e<t?-1:1));return"#"+new URLSearchParams(s.map(e=>[e,a[e]])).toString()}function ye(a,s){let e=Object.assign(Object.create(
null),a);for(let[t,n]of Object.entries(s))n==null||n===""?delete e[t]:e[t]=typeof n=="number"?String(Math.round(n)):n;return e}function A(a,s,e){let t=a[s];return t!==
void 0&&/^-?\d{1,15}$/.test(t)?Number(t):e}function S(a,s){let e=Object.create(null);for(let t of["theme","c","run","vs"])a[t]!==void 0&&(e[t]=a[t]);return ye(e,
s)}var I=class{listeners=[];params=we(location.hash);constructor(){addEventListener("hashchange",()=>this.take(we(location.hash)))}follow(s){this.listeners.push(
s)}set(s,e="replace"){this.go(ye(this.params,s),e)}go(s,e="push"){let t=E(s);t!==E(this.params)&&(e==="push"?history.pushState(null,"",t):history.replaceState(null,
"",t),this.take(s))}take(s){let e=this.params;this.params=s;for(let t of this.listeners)t(s,e)}};var re={id:"summary",title:"Summary",needs:"capture",open:()=>({el:r("div",null)})};var ke={id:"timeline",title:"Timeline",needs:"capture",open:()=>({el:r("div",null)})};var Me={id:"kernels",title:"Kernels",needs:"capture",open:()=>({el:r("div",null)})};var Te={id:"whatif",title:"What if",needs:"capture",open:()=>({el:r("div",null)})};function T(a){let[s,e]=a.split("."),t=s.replace(/\B(?=(\d{3})+$)/g,",");return e===void 0?t:t+"."+e}function oe(a){if(a===0)return"0";let s=Math.floor(Math.log10(
Math.abs(a)));return Math.abs(a)>=Math.pow(10,s+1)*(1-5e-4)&&s++,T(a.toFixed(Math.min(Math.max(2-s,0),20)))}function Ve(a,s){let e=s[s.length-1];if(a===0)return"\
0 "+e[1];for(let[t,n]of s)if(Math.abs(a)/t>=.9995)return(t===1&&Number.isInteger(a)?T(String(a)):oe(a/t))+" "+n;return oe(a)+" "+e[1]}function x(a){return Ve(a,
[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function Ee(a,s){let[e,t]=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]].find(([i])=>Math.abs(a)>=i)??[1,"ns"],n=Math.
min(Math.max(Math.ceil(Math.log10(e/s)-1e-9),0),9);return a===0?"0":T((a/e).toFixed(n))+" "+t}function Se(a){return oe(a*100)+" %"}function R(a,s){if(!(a>0))return[0];let e=a/s,t=Math.pow(10,Math.floor(Math.log10(e))),n=[1,2,5,10].find(o=>o*t>=e*.999)||10,i=[];for(let o=0;o<=a*1.0001;o+=n*t)
i.push(o);return i}function Xe(){let{theme:a}=document.documentElement.dataset;return a==="dark"||a!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function Ue(){let a=getComputedStyle(
document.documentElement),s=Xe()?2:1;return e=>/light-dark\(([^,]*),\s*([^)]*)\)/.exec(a.getPropertyValue("--"+e))?.[s]??"#888888"}var ae=[];var _=class{constructor(s,e,t={}){this.height=e;this.canvas=typeof s=="string"?document.getElementById(s):s,this.left=t.left??58,this.bottom=t.bottom??22,this.canvas.
style.height=e+"px",ae.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.width||this.draw())),this.sizes.observe(
this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),ae.splice(ae.indexOf(this),1)}area(){return{x:this.left,y:6,w:Math.
max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let s=this.canvas.clientWidth,e=window.devicePixelRatio||1;if(s===0)return;this.
width=s,this.canvas.width=Math.round(s*e),this.canvas.height=Math.round(this.height*e);let t=this.pen();t&&(this.paint(t),this.ground??=document.createElement("\
canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.mark(t),this.canvas.
dataset.drawn="1")}again(){let s=this.pen();if(!s||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();s.ctx.setTransform(1,0,0,1,0,0),s.ctx.clearRect(
0,0,this.canvas.width,this.canvas.height),s.ctx.drawImage(this.ground,0,0),this.mark({...s,ctx:this.scale(s.ctx)})}scale(s){let e=window.devicePixelRatio||1;return s.
setTransform(e,0,0,e,0,0),s}pen(){let s=this.canvas.getContext("2d");return s?(this.scale(s).font="11px system-ui, sans-serif",{ctx:s,area:this.area(),color:Ue()}):
null}paint(s){}mark(s){}yAxis({ctx:s,area:e,color:t},n,i){s.textAlign="right",s.textBaseline="middle";for(let o of R(n,Math.max(e.h/45,2))){let l=e.y+e.h*(1-o/n);
s.fillStyle=t("line"),s.fillRect(e.x,Math.round(l),e.w,1),s.fillStyle=t("soft"),s.fillText(i(o),e.x-6,l)}}};function Pe(){let a=document.getElementById("tip");if(a)
return a;let s=document.createElement("div");return s.id="tip",s.setAttribute("role","status"),document.body.appendChild(s)}function W(a,s,e,t){let n=Pe(),i=document.
createElement("dl");for(let[b,u]of t.rows){let f=document.createElement("dt"),m=document.createElement("dd");f.textContent=b,m.textContent=u,i.append(f,m)}let o=document.
createElement("strong");o.textContent=t.title,n.replaceChildren(o,i),n.hidden=!1;let l=a.getBoundingClientRect(),h=n.getBoundingClientRect(),d=document.documentElement.
clientWidth,p=l.left+s+14;p+h.width>d-8&&(p=Math.max(l.left+s-14-h.width,4));let c=l.top+e+14;c+h.height>window.innerHeight-4&&(c=Math.max(l.top+e-14-h.height,4)),
n.style.left=p+window.scrollX+"px",n.style.top=c+window.scrollY+"px"}function j(){Pe().hidden=!0}var K=class{constructor(s,e=4){this.cols=s;this.least=e;this.hi=
Math.max(s,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(s){this.moved||=s,!this.pending&&(this.pending=requestAnimationFrame(
()=>{let e=this.moved;this.pending=0,this.moved=!1;for(let t of this.plots)e?t.draw():t.again();e&&this.whenMoved()}))}zoom(s,e){let t=Math.min(Math.max(e-s,this.
least),this.cols),n=(s+e)/2;this.lo=Math.min(Math.max(n-t/2,0),this.cols-t),this.hi=this.lo+t,this.changed(!0)}point(s){this.col=s<0?-1:Math.min(s,this.cols-1);
let e=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-e/2,this.col+.5+e/2),this.changed(!1)}};function le(a){let s=["decode","prefill","mixed","other","idle"].indexOf(a);return"k"+(s<0?3:s)}var V=class extends _{constructor(e,t,n,i,o,l=28){super(e,t,{left:o,bottom:l});this.data=n;this.view=i;this.grid=n.grid,i.plots.push(this),this.listen()}data;view;grid;x(e,t){
return t.x+(e-this.view.lo)/(this.view.hi-this.view.lo)*t.w}colAt(e){let t=this.area();return this.view.lo+(e-t.x)/t.w*(this.view.hi-this.view.lo)}colOf(e){let{
first:t,last:n}=this.grid,i=0,o=t.length-1;for(;i<o;){let l=i+o+1>>1;t[l]<=e?i=l:o=l-1}return t.length&&t[i]<=e&&e<=n[i]?i:-1}stepName(e){let t=this.grid,n=t.kind[e]<
0?"several kinds":this.data.kinds[t.kind[e]];return(t.first[e]===t.last[e]?"step "+t.first[e]:`steps ${t.first[e]}–${t.last[e]}`)+", "+n}xAxis({ctx:e,area:t,color:n}){
let i=this.grid,o=this.view,l=t.y+t.h,h=Math.max(Math.floor(o.lo),0),d=Math.min(Math.ceil(o.hi),i.cols);if(this.data.kinds.length>1)for(let f=h;f<d;f++){let m=Math.
max(this.x(f,t),t.x),v=Math.min(this.x(f+1,t),t.x+t.w);e.fillStyle=n(i.kind[f]<0?"k4":le(this.data.kinds[i.kind[f]])),e.fillRect(m,l+3,Math.max(v-m-(v-m>3?1:0),
.5),4)}e.textAlign="center",e.textBaseline="top",e.fillStyle=n("soft");let p=(d-h)*i.bucket,c=R(p,Math.max(t.w/70,2)),b=Math.max(Math.round(c.length>1?c[1]:1),1),
u=-1/0;for(let f=h;f<d;f++){let m=Math.ceil(i.first[f]/b)*b,v=this.x(f+(i.bucket===1?.5:(m-i.first[f])/i.bucket),t);m>i.last[f]||v-u<30||v<t.x||v>t.x+t.w||(e.fillText(
String(m),v,l+10),u=v)}}mark({ctx:e,area:t,color:n}){let i=this.view.col;if(i<this.view.lo-1||i>this.view.hi)return;let o=Math.max(this.x(i,t),t.x),l=Math.min(this.
x(i+1,t),t.x+t.w);i<0||l<=o||(e.strokeStyle=n("mark"),e.globalAlpha=.7,e.strokeRect(o+.5,t.y+.5,Math.max(l-o-1,1),t.h-1),e.globalAlpha=1)}tip(e,t){return null}tipAt(e,t){
return null}rowAt(e){return 0}rows(){return 1}point(e,t,n,i){this.rows()>1&&(this.view.row=t),this.view.point(e);let o=n!==void 0&&i!==void 0&&this.tipAt(n,i)||
this.tip(this.view.col,t),l=this.area();if(!o)return j();W(this.canvas,n??this.x(this.view.col+.5,l),i??l.y+l.h*(t+.5)/this.rows(),o)}listen(){let e=this.canvas,
t=this.view,n=NaN;e.addEventListener("pointerdown",i=>{n=i.offsetX}),e.addEventListener("pointermove",i=>{let o=Math.floor(this.colAt(i.offsetX));if(o<0||o>=this.
grid.cols||i.offsetX<this.left)return this.leave();this.point(o,this.rowAt(i.offsetY),i.offsetX,i.offsetY)}),e.addEventListener("pointerup",i=>{if(Math.abs(i.offsetX-
n)>8){let o=this.colAt(n),l=this.colAt(i.offsetX);t.zoom(Math.min(o,l),Math.max(o,l))}n=NaN}),e.addEventListener("pointerleave",()=>this.leave()),e.addEventListener(
"blur",()=>this.leave()),e.addEventListener("dblclick",()=>t.zoom(0,t.cols)),e.addEventListener("keydown",i=>{this.key(i.key,i.shiftKey)&&i.preventDefault()})}leave(){
j(),this.view.point(-1)}key(e,t){let n=this.view,i=n.col<0?Math.floor(n.lo):n.col,o=n.col<0?(n.lo+n.hi)/2:n.col+.5,l=(n.hi-n.lo)/2,h=t?10:1,d=this.rows()>1?n.row:
0;switch(e){case"ArrowLeft":return this.point(Math.max(i-h,0),d),!0;case"ArrowRight":return this.point(Math.min(n.col<0?i:i+h,n.cols-1),d),!0;case"ArrowUp":case"\
ArrowDown":return this.rows()<2?!1:(this.point(i,Math.min(Math.max(n.row+(e==="ArrowUp"?-h:h),0),this.rows()-1)),!0);case"Home":return this.point(0,d),!0;case"E\
nd":return this.point(n.cols-1,d),!0;case"+":case"=":return n.zoom(o-l/2,o+l/2),!0;case"-":return n.zoom(o-l*2,o+l*2),!0;case"Escape":return this.leave(),n.zoom(
0,n.cols),!0}return!1}};var P=class extends V{constructor(e,t,n,i,o=!0){super(e,t,{kinds:[],grid:{cols:n.running.length}},i,64,o?28:6);this.bench=n;this.axis=o}bench;axis;fine=null;at(e,t){
return this.x(e/this.bench.bin_ns,t)}sight(){return{from:this.view.lo*this.bench.bin_ns,to:this.view.hi*this.bench.bin_ns}}whenClicked(e){let t=NaN;this.canvas.
addEventListener("pointerdown",n=>t=n.offsetX),this.canvas.addEventListener("click",n=>{Math.abs(n.offsetX-t)<=8&&e(n.offsetX,n.offsetY)})}when(e,t){return this.
bench.at[e]+(this.bench.at_once?Math.max(t[e],0):0)}shade({ctx:e,area:t,color:n}){for(let[i,o,l]of[[this.bench.steady,"info",.1],[this.bench.profiled,"k3",.15]]){
e.fillStyle=n(o),e.globalAlpha=l;for(let h of i){let d=Math.max(this.at(h.from,t),t.x),p=Math.min(this.at(h.to,t),t.x+t.w);p>d&&e.fillRect(d,t.y,p-d,t.h)}e.globalAlpha=
1}}xAxis({ctx:e,area:t,color:n}){if(!this.axis)return;let i=this.bench.bin_ns,o=this.view.lo*i,l=this.view.hi*i,h=R(l-o,Math.max(t.w/110,2)),d=h.length>1?h[1]:l-
o||1;e.fillStyle=n("soft"),e.textBaseline="top",e.textAlign="center";for(let p=Math.ceil(o/d)*d;p<=l;p+=d)e.fillText(Ee(Math.round(p),d),Math.min(this.at(p,t),t.
x+t.w-14),t.y+t.h+5)}inside({ctx:e,area:t},n){e.save(),e.beginPath(),e.rect(t.x,t.y,t.w,t.h),e.clip(),n(),e.restore()}bins(){return this.fine??this.bench}stairs({
ctx:e,area:t,color:n},i,o,l,h){let d=this.bins(),p=b=>t.y+t.h*(1-b/o),c=b=>this.at(d.from_ns+b*d.bin_ns,t);e.beginPath(),i.forEach((b,u)=>{e.lineTo(c(u),p(b)),e.
lineTo(c(u+1),p(b))}),e.strokeStyle=e.fillStyle=n(l),e.lineWidth=1.5,e.stroke(),h&&(e.lineTo(c(i.length),t.y+t.h),e.lineTo(c(0),t.y+t.h),e.globalAlpha=.18,e.fill(),
e.globalAlpha=1)}top(e){let t=this.bins(),n=o=>(o*this.bench.bin_ns-t.from_ns)/t.bin_ns,i=0;for(let o=Math.max(Math.floor(n(this.view.lo)),0);o<Math.min(Math.ceil(
n(this.view.hi)),e.length);o++)i=Math.max(i,e[o]);return i*1.06||1}tip(e){let t=this.bench;if(e<0||e>=t.running.length)return null;let n=[],i=l=>l>=e*t.bin_ns&&
l<(e+1)*t.bin_ns,o=Ce(t.at,i);o.length&&n.push(["requests sent",String(o.length)]);for(let[l,h]of[["TTFT",t.ttft],["E2E",t.e2e]]){let d=h.reduce((p,c,b)=>c>p&&i(
this.when(b,h))?c:p,-1);d>=0&&n.push(["longest "+l,x(d)])}return t.embedding||n.push([q(t)?"output tokens in the busiest second":"output tokens in the last seco\
nd",he(t.busiest[e])]),!t.embedding&&q(t)&&n.push(["output tokens/s, mean",he(t.tokens[e]/(t.bin_ns/1e9))]),n.push(["under way at most",T(String(t.most[e]))],["\
under way, mean",t.running[e].toFixed(1)]),t.embedding||n.push(["in decode, mean",t.decode[e].toFixed(1)]),n.push(["ended",String(t.ended[e])]),t.failed[e]&&n.push(
["failed",String(t.failed[e])]),{title:`${e?x(e*t.bin_ns):"0"} – ${x((e+1)*t.bin_ns)}`,rows:n}}};function Ce(a,s){let e=[];return a.forEach((t,n)=>s(t,n)&&e.push(
n)),e}function he(a){return a===0?"0":a>=99.95?T(String(Math.round(a))):a.toFixed(1)}function Je(a,s){let e=[];for(let t=Math.pow(10,Math.floor(Math.log10(a)));t<=
s;t*=10)for(let n of[1,2,5])n*t>=a&&n*t<=s&&e.push(n*t);return e.length>7?e.filter(t=>Math.abs(Math.log10(t)%1)<1e-6||Math.abs(Math.log10(t)%1-1)<1e-6):e}var X=[
["ttft","k1",1],["e2e","k0",2]],U=class extends P{log=!0;chosen=-1;range(){let s=1/0,e=0;for(let[t]of X)for(let n of this.shown(t))this.bench[t][n]>0&&(s=Math.min(
s,this.bench[t][n]),e=Math.max(e,this.bench[t][n]));return e===0&&(s=1e6,e=1e9),e*=1.1,s*=.9,this.log&&e/s<10&&(s=e/10),[s,e]}y(s,[e,t],n){return n.y+n.h*(this.
log?1-Math.log(s/e)/Math.log(t/e):1-s/t)}shown(s){let e=this.bench[s],{from:t,to:n}=this.sight();return Ce(e,(i,o)=>this.when(o,e)>=t&&this.when(o,e)<=n)}near(s,e){
let t=this.area(),n=this.range(),i=-1,o=64;for(let[l]of X){let h=this.bench[l];for(let d of this.shown(l)){let p=h[d]>0?this.y(h[d],n,t):l==="e2e"&&this.failed(
d)?t.y+t.h-5:NaN,c=(this.at(this.when(d,h),t)-s)**2+(p-e)**2;c<=o&&(o=c,i=d)}}return i}failed(s){return this.bench.ttft[s]<0&&this.bench.e2e[s]<0}paint(s){let{ctx:e,
area:t,color:n}=s,i=this.bench,o=this.range(),[l,h]=o;if(this.shade(s),this.log){e.textAlign="right",e.textBaseline="middle";for(let d of Je(l,h))e.fillStyle=n(
"line"),e.fillRect(t.x,Math.round(this.y(d,o,t)),t.w,1),e.fillStyle=n("soft"),e.fillText(x(d),t.x-6,this.y(d,o,t))}else this.yAxis(s,h,x);this.inside(s,()=>{for(let[
d,p,c]of X){let b=i.limits[d];b&&(!this.log||b>l)&&Ae(s,this.y(b,o,t),p),e.globalAlpha=.75;for(let u of this.shown(d))i[d][u]>0&&(e.fillStyle=n(i.touched[u]&c?"\
k4":p),e.beginPath(),e.arc(this.at(this.when(u,i[d]),t),this.y(i[d][u],o,t),2,0,7),e.fill());e.globalAlpha=1}e.fillStyle=n("high");for(let d of this.shown("e2e"))
this.failed(d)&&e.fillRect(this.at(i.at[d],t)-1,t.y+t.h-10,2,10)}),this.xAxis(s)}mark(s){super.mark(s);let{ctx:e,area:t,color:n}=s,i=this.chosen,o=this.bench,l=this.
range();i<0||this.inside(s,()=>{e.strokeStyle=n("mark"),e.lineWidth=2;for(let[h]of X)o[h][i]>0&&(e.beginPath(),e.arc(this.at(this.when(i,o[h]),t),this.y(o[h][i],
l,t),5,0,7),e.stroke())})}};function Ae({ctx:a,area:s,color:e},t,n){a.strokeStyle=e(n),a.lineWidth=1.5,a.setLineDash([6,4]),a.beginPath(),a.moveTo(s.x,t),a.lineTo(
s.x+s.w,t),a.stroke(),a.setLineDash([])}function q(a){return a.bin_ns>=1e9}var J=class extends P{paint(s){let e=this.bins(),t=this.fine!==null,n=this.top(t?e.tokens:
e.busiest);this.shade(s),this.yAxis(s,n,he),this.inside(s,()=>{if(t)return this.stairs(s,e.tokens,n,"compute",!0);this.stairs(s,e.busiest,n,"compute",!q(e)),q(e)&&
this.stairs(s,e.tokens.map(i=>i/(e.bin_ns/1e9)),n,"k1",!0)}),this.xAxis(s)}title(){let s=x(this.bins().bin_ns);return this.fine?`Output tokens in each ${s}`:q(this.
bench)?`Output tokens in the seconds of each ${s}`:"Output tokens in the last second"}},Y=class extends P{queue=[];paint(s){let{ctx:e,area:t,color:n}=s,i=this.bench,
o=this.bins(),{from:l,to:h}=this.sight(),d=this.queue.filter(c=>c.at>=l&&c.at<=h),p=Math.max(this.top(o.most),...d.map(c=>c.queued*1.06));this.shade(s),this.yAxis(
s,p,c=>T(String(c))),this.inside(s,()=>{this.stairs(s,o.most,p,"host",!0),i.embedding||this.stairs(s,o.decode,p,"k0",!1),this.queue.length>0&&this.queued(s,p),e.
fillStyle=n("high"),o.failed.forEach((c,b)=>{let u=this.at(o.from_ns+b*o.bin_ns,t);c&&e.fillRect(u,t.y+t.h-10,Math.max(this.at(o.from_ns+(b+1)*o.bin_ns,t)-u,2),
10)})}),this.xAxis(s)}queued({ctx:s,area:e,color:t},n){s.beginPath();for(let i of this.queue)s.lineTo(this.at(i.at,e),e.y+e.h*(1-i.queued/n));s.strokeStyle=t("k\
3"),s.lineWidth=1.5,s.stroke()}},G=class extends _{constructor(e,t,n){super(e,t,{left:64,bottom:26});this.spread=n;this.nines=Math.max(Math.log10(n.n),.31),this.
canvas.addEventListener("pointermove",i=>{let o=this.area(),l=1-Math.pow(10,-(i.offsetX-o.x)/o.w*this.nines),h=0;n.shares.forEach((d,p)=>d<=l&&(h=p)),this.point(
h,i.offsetX,i.offsetY)}),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.addEventListener(
"keydown",i=>{let o=n.shares.length-1,l=i.shiftKey?10:1;if(i.key==="ArrowRight")this.point(Math.min(this.i+l,o));else if(i.key==="ArrowLeft")this.point(Math.max(
this.i-l,0));else if(i.key==="Home")this.point(0);else if(i.key==="End")this.point(o);else if(i.key==="Escape")this.point(-1);else return;i.preventDefault()})}spread;other=null;i=-1;nines;x(e,t){
return t.x+t.w*Math.min(-Math.log10(Math.max(1-e,1e-12))/this.nines,1)}point(e,t,n){if(this.i=e,this.again(),e<0)return j();let i=this.spread,o=i.shares[e],l=this.
other,h=[["percentile",o===1?"longest":"p"+Number((o*100).toPrecision(6))],["value",x(i.values[e])]];l&&h.push(["before",x(Ye(l,o))]),W(this.canvas,t??this.x(i.
shares[e],this.area()),n??20,{title:i.title,rows:h})}paint(e){let{ctx:t,area:n,color:i}=e,o=this.spread,l=this.top(),h=p=>n.y+n.h*(1-p/l);this.yAxis(e,l,x),t.textBaseline=
"top";let d=-1/0;for(let[p,c]of[[0,"min"],[.5,"p50"],[.9,"p90"],[.99,"p99"],[.999,"p99.9"],[.9999,"p99.99"],[.99999,"p99.999"]]){if(-Math.log10(1-p)>this.nines)
break;let b=this.x(p,n),u=t.measureText(c).width,f=Math.min(b-u/2,n.x+n.w+8-u);t.fillStyle=i("line"),t.fillRect(Math.round(b),n.y,1,n.h),!(f<d+4)&&(t.fillStyle=
i("soft"),t.textAlign="left",t.fillText(c,f,n.y+n.h+6),d=f+u)}o.limit>0&&o.limit<l&&Ae(e,h(o.limit),"high");for(let[p,c]of[[this.other,"k4"],[o,"k0"]])p&&(t.beginPath(),
p.values.forEach((b,u)=>t.lineTo(this.x(p.shares[u],n),h(b))),t.strokeStyle=i(c),t.lineWidth=2,t.stroke())}mark({ctx:e,area:t,color:n}){if(this.i<0)return;let i=this.
spread,o=this.top();e.fillStyle=n("mark"),e.beginPath(),e.arc(this.x(i.shares[this.i],t),t.y+t.h*(1-i.values[this.i]/o),3.5,0,7),e.fill()}top(){return Math.max(
this.spread.values.at(-1)??0,this.other?.values.at(-1)??0)*1.06||1}};function Ye(a,s){let e=a.shares.findIndex(t=>t>=s);return a.values[e<0?a.values.length-1:e]}function qe(a){let s=a.tBodies[0],e=[...s.rows],t=[...a.tHead?.rows[0].cells??[]],n=a.parentElement,i=e.length<=15,o="",l="",h=t.findIndex(u=>u.textContent==="k\
ind"),d=h<0?[]:[...new Set(e.map(u=>u.cells[h].textContent??""))],p=document.createElement("button");p.type="button",p.className="more";let c=document.createElement(
"span"),b=()=>{let u=0,f=0;for(let m of s.rows){let v=(o===""||(m.textContent??"").toLowerCase().includes(o))&&(l===""||m.cells[h].textContent===l);v&&u++,m.hidden=
!v||!i&&f>=12,m.hidden||f++}p.hidden=u<=12||e.length<=15,p.textContent=i?"Show the first 12 only":`Show all ${u}`,c.textContent=o===""?"":`${u} of ${e.length} r\
ows`};if(p.addEventListener("click",()=>{i=!i,b()}),a.addEventListener("reveal",()=>{i=!0,o=l="",a.parentElement?.previousElementSibling?.querySelectorAll("inpu\
t[type=search], select").forEach(u=>u.value=""),b()}),t.forEach((u,f)=>{if(!u.textContent)return;let m=document.createElement("button");m.type="button",m.textContent=
u.textContent,u.replaceChildren(m),m.addEventListener("click",()=>{let v=e.some(k=>k.cells[f].dataset.v!==void 0),g=u.ariaSort,w=g?g==="ascending":v;for(let k of t)
k.removeAttribute("aria-sort");u.ariaSort=w?"descending":"ascending",e.sort((k,L)=>{let N=k.cells[f],D=L.cells[f],fe=v?Number(N.dataset.v??0)-Number(D.dataset.v??
0):(N.textContent??"").localeCompare(D.textContent??"");return w?-fe:fe}),s.append(...e),b()})}),e.length>8||a.dataset.names){let u=document.createElement("div");
if(u.className="tabletools",d.length>1&&e.length>8){let f=document.createElement("label"),m=document.createElement("select");m.add(new Option("every kind",""));
for(let v of d)m.add(new Option(v==="all"?"all together":v,v));d.includes("all")&&(l=m.value="all"),m.addEventListener("change",()=>{l=m.value,b()}),f.append("S\
teps of kind ",m),u.append(f)}if(e.length>8){let f=document.createElement("label"),m=document.createElement("input");m.type="search",m.addEventListener("input",
()=>{o=m.value.trim().toLowerCase(),b()}),f.append("Filter ",m),u.append(f,c),c.setAttribute("role","status")}if(a.dataset.names){let f=document.createElement("\
label"),m=document.createElement("input");m.type="checkbox",m.addEventListener("change",()=>a.classList.toggle("names",m.checked)),f.append(m," full names"),u.append(
f)}n.before(u)}n.after(p),b()}function de(a){let s=r("table",{data:{title:a.title}},r("thead",null,r("tr",null,...a.cols.map(t=>r("th",{scope:"col",class:t.right?"r":void 0,title:t.help},t.name)))),
r("tbody",null,...a.rows.map(t=>r("tr",null,...t.cells.map(Ge))))),e=r("div",{class:"table"},r("div",{class:"scroll",role:"region",tabindex:"0","aria-label":a.title+
", table"},s),a.omitted&&r("p",{class:"omitted"},a.omitted));return qe(s),e}function Ge(a){let s=a.code?r("code",{title:a.full},a.text):a.text;return r("td",{class:a.
right?"r":a.wrap?"w":a.short?"n":void 0,data:a.num?{v:a.num}:{}},s)}function Le(a,s){let e=0,t=a.length;for(;e<t;){let n=e+t>>1;a[n]<s?e=n+1:t=n}return e}function $(a){let s=a.dp_rank>=0?"DP"+String(a.dp_rank).padStart(2,"0"):"";
return[a.server,s].filter(e=>e!=="").join(" ")||"steps"}var z=18,Q=class extends P{constructor(e,t,n,i){super(e,i.lanes.length*z+12,t,n,!1);this.steps=i;this.whenClicked(
(o,l)=>{let h=this.stepAt(o,l);h&&this.whenChosen(h)})}steps;lit=null;whenChosen=()=>{};light(e){this.lit=e&&this.steps.lanes.map((t,n)=>new Set(e.filter(i=>i.lane===
n).map(i=>i.step))),this.draw()}rows(){return this.steps.lanes.length}rowAt(e){return Math.min(Math.max(Math.floor((e-this.area().y)/z),0),this.rows()-1)}stepAt(e,t){
let n=this.area(),i=this.rowAt(t),o=this.steps.lanes[i];if(!o||t<n.y||t>n.y+n.h)return null;let l=this.colAt(e)*this.bench.bin_ns,h=1.5*((this.view.hi-this.view.
lo)*this.bench.bin_ns)/n.w,d=Le(o.to,l-h);return d<o.to.length&&o.from[d]<=l+h?{lane:i,step:d}:null}paint(e){let{ctx:t,area:n,color:i}=e,o=this.steps.kinds.map(
d=>i(le(d)));this.shade(e);let{from:l,to:h}=this.sight();t.textAlign="right",t.textBaseline="middle",this.steps.lanes.forEach((d,p)=>{let c=n.y+p*z;t.fillStyle=
i("soft"),t.fillText(Qe(t,$(d),n.x-8),n.x-6,c+z/2),t.fillStyle=i("line"),t.fillRect(n.x,c+z-1,n.w,1),this.inside(e,()=>{let b=-1/0;for(let u=Le(d.to,l);u<d.from.
length&&d.from[u]<=h;u++){let f=this.lit===null||this.lit[p].has(u),m=this.at(d.from[u],n),v=Math.max(this.at(d.to[u],n),m+.5);v<b+.5&&!f||(t.globalAlpha=f?1:.2,
t.fillStyle=o[d.kind[u]],t.fillRect(m,c+3,v-m-(v-m>3?1:0),z-6),b=Math.max(b,v))}t.globalAlpha=1})}),this.xAxis(e)}point(e,t,n,i){super.point(e,t,n,i),this.canvas.
style.cursor=n!==void 0&&i!==void 0&&this.stepAt(n,i)?"pointer":""}tipAt(e,t){let n=this.stepAt(e,t);if(!n)return null;let i=this.steps.lanes[n.lane];return{title:this.
steps.names[i.name[n.step]],rows:[["step",`${n.step}, ${this.steps.kinds[i.kind[n.step]]}`],["took",x(i.to[n.step]-i.from[n.step])],["from",x(i.from[n.step])],[
"requests of this load in it",T(String(i.batch[n.step]))]]}}};function Qe(a,s,e){if(a.measureText(s).width<=e)return s;for(;s.length>1&&a.measureText(s+"…").width>
e;)s=s.slice(0,-1);return s+"…"}function Ze(a){return Math.min(Math.max(a*9,40),360)}var Z=class extends P{constructor(e,t,n,i){super(e,Ze(i.rows)+34,t,n);this.
requests=i;this.whenClicked((o,l)=>{let h=this.barAt(o,l);h>=0&&this.whenChosen(this.requests.index[h])})}requests;marked=-1;others=new Set;whenChosen=()=>{};show(e){
this.requests=e,this.draw()}light(e,t){this.marked=e,this.others=new Set(t),this.draw()}y(e,t){let n=t.h/Math.max(this.requests.rows,1);return[t.y+e*n,Math.max(
n-(n>3?1:0),.7)]}barAt(e,t){let n=this.area(),i=this.colAt(e)*this.bench.bin_ns,o=this.requests,l=2*((this.view.hi-this.view.lo)*this.bench.bin_ns)/n.w,h=Math.floor(
(t-n.y)/n.h*o.rows),d=Math.max(Math.ceil(2*o.rows/n.h)-1,0),p=-1;for(let c=0;c<o.index.length;c++)Math.abs(o.row[c]-h)>d||o.sent[c]>i+l||o.done[c]<i-l||(p<0||Math.
abs(o.row[c]-h)<Math.abs(o.row[p]-h))&&(p=c);return p}paint(e){let{ctx:t,area:n,color:i}=e,o=this.requests;this.shade(e),t.fillStyle=i("soft"),t.textAlign="righ\
t",t.textBaseline="top",t.fillText(T(String(o.rows)),n.x-6,n.y),t.fillText("at once",n.x-6,n.y+13);let l={wait:i("k1"),decode:i("k0"),end:i("k4"),failed:i("high")};
this.inside(e,()=>{for(let h=0;h<o.index.length;h++){let[d,p]=this.y(o.row[h],n),c=o.index[h]===this.marked;t.globalAlpha=this.marked<0&&this.others.size===0||c||
this.others.has(o.index[h])?o.touched[h]&&!c?.75:1:.18;let b=(m,v,g,w=1)=>{let k=Math.max(this.at(m,n),n.x-1),L=Math.min(this.at(v,n),n.x+n.w+1);L<n.x||k>n.x+n.
w||v<=m||(t.fillStyle=g,t.fillRect(k,d+p*(1-w)/2,Math.max(L-k,.5),p*w))};if(o.failed[h]){b(o.sent[h],o.done[h],l.failed);continue}let u=o.first[h]<0?o.done[h]:o.
first[h],f=Math.max(o.last[h],u);b(o.sent[h],u,l.wait,.55),b(u,f,l.decode),b(f,o.done[h],l.end,.3)}t.globalAlpha=1}),this.xAxis(e)}mark(e){super.mark(e);let{ctx:t,
area:n,color:i}=e,o=this.requests.index.indexOf(this.marked);if(o<0)return;let[l,h]=this.y(this.requests.row[o],n);this.inside(e,()=>{t.strokeStyle=i("mark"),t.
lineWidth=1.5;let d=this.at(this.requests.sent[o],n),p=this.at(this.requests.done[o],n);t.strokeRect(d-1,l-1,Math.max(p-d+2,3),h+2)})}point(e,t,n,i){super.point(
e,t,n,i),this.canvas.style.cursor=n!==void 0&&i!==void 0&&this.barAt(n,i)>=0?"pointer":""}tipAt(e,t){let n=this.barAt(e,t),i=this.requests;if(n<0)return null;let o=[
["sent at",x(i.sent[n])]];return i.failed[n]?o.push(["failed after",x(i.done[n]-i.sent[n])]):(i.first[n]>=0&&o.push(["TTFT",x(i.first[n]-i.sent[n])]),o.push(["E\
2E",x(i.done[n]-i.sent[n])])),i.touched[n]&&o.push(["touched","by the captured window"]),{title:"request "+i.index[n],rows:o}}};function Re(a){return{queue:"idle",prefill:"k1",decode:"k0",wait:"wait",reply:"k2",unknown:"unknown"}[a]}function _e(a){return["queue","prefill","wait","decode",
"reply","unknown"].map(e=>({of:e,ns:a.filter(t=>t.of===e).reduce((t,n)=>t+n.ns,0)})).filter(e=>e.ns>0)}var ze={queue:"queue",prefill:"prefill",wait:"wait",decode:"\
decode",reply:"reply",unknown:"not recorded"};function ee(a,s=!1){let e=a.reduce((i,o)=>i+o.ns,0)||1,t=r("div",{class:"parts","aria-hidden":"true"},...a.map(i=>{
let o=r("i",{title:`${i.name} ${x(i.ns)}`});return o.style.width=`${100*i.ns/e}%`,o.style.background=`var(--${Re(i.of)})`,o})),n=i=>{let o=r("i");return o.style.
background=`var(--${Re(i)})`,o};return s?r("div",null,t,r("p",{class:"keys"},..._e(a).map(i=>r("span",{class:"key"},n(i.of),ze[i.of]+" ",r("b",null,x(i.ns)))))):
r("div",null,t,r("p",{class:"keys sums"},..._e(a).map(i=>r("span",{class:"key"},n(i.of),ze[i.of]+" ",r("b",null,x(i.ns))))),r("table",{class:"split"},r("tbody",
null,...[...a].sort((i,o)=>o.ns-i.ns).map(i=>r("tr",null,r("th",{scope:"row"},n(i.of),i.name,i.more&&r("small",null,i.more)),r("td",null,x(i.ns)),r("td",null,Se(
i.ns/e)))))))}function He(a,s,e){let t=a.moments.find(i=>i.name==="sent")?.at??a.moments[0]?.at??0;return r("aside",{class:"panel","aria-label":"Request "+a.index},
r("header",null,r("h2",null,"Request ",String(a.index),a.turn>0&&`, turn ${a.turn+1}`),r("button",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:e.
close}},"×")),a.id!==""&&r("p",{class:"id"},r("code",null,a.id)),a.failure!==""&&r("p",{class:"caveat"},"failed: "+a.failure+(a.error?": "+a.error:"")),a.ttft&&
et("TTFT",a.ttft),a.why!==""&&r("p",{class:"soft"},a.why),tt(a,s,e),a.gaps.length>0&&r("section",null,r("h3",null,"Its longest waits for a token"),...a.gaps.slice(
0,4).map(i=>r("div",{class:"gap"},r("p",null,r("b",null,x(i.ns)),` until event ${i.event}`),ee(i.parts,!0)))),a.with.length>0&&r("section",null,r("h3",null,"In \
the same steps"),r("p",{class:"chips"},...a.with.map(i=>r("button",{class:"chip",title:i.id+`: ${i.steps} steps together`,on:{click:()=>e.request(i.index)}},String(
i.index),r("small",null,"×"+i.steps))))),r("section",null,r("h3",null,"Moments"),r("dl",null,...a.moments.flatMap(i=>[r("dt",null,i.name),r("dd",null,i.name===
"sent"?x(i.at):(i.at<t?"−":"+")+x(Math.abs(i.at-t)))]))),r("section",null,r("h3",null,"Facts"),r("dl",null,...a.facts.flatMap(([i,o])=>[r("dt",null,i),r("dd",
null,o)]))))}function et(a,s){return r("section",null,r("h3",null,a+" ",r("b",null,x(s.ns)),s.place&&r("span",{class:"soft"}," on "+s.place)),ee(s.parts))}function tt(a,s,e){
if(!s||a.steps.length===0)return null;let t=[...new Set(a.steps.map(n=>n.lane))];return r("section",null,r("h3",null,"Its steps"),...t.map(n=>{let i=a.steps.filter(
h=>h.lane===n).map(h=>h.step),o=s.lanes[n],l=e.timeline(n,o.from[i[0]],o.to[i[i.length-1]]);return r("p",null,`${$(o)}: ${i.length} of steps ${i[0]}–${i[i.length-
1]} `,l&&r("a",{href:l},"see them in the timeline"))}))}var nt=2e5,st=120,te=class{constructor(s,e,t,n,i){this.store=s;this.run=e;this.requests=t;let o=e.plots;this.view=new K(o.running.length,nt/o.bin_ns);let l=g=>r(
"canvas",{tabindex:"0",role:"img","aria-label":g}),h=(g,w,k,...L)=>r("figure",null,r("figcaption",null,typeof g=="string"?r("span",null,g):g,r("span",{class:"ke\
ys"},...w.map(([N,D])=>Be(N,D)),...L)),k),d=[...o.steady.length?[["info","steady"]]:[],...o.profiled.length?[["k3","captured window"]]:[]],p=r("input",{type:"ch\
eckbox"});p.checked=!0,p.addEventListener("change",()=>{this.latency.log=p.checked,this.latency.draw()});let c=l(`Latency of requests by the time of ${o.at_once?
"their end":"sending"}`);this.latency=new U(c,220,o,this.view),this.latency.whenClicked((g,w)=>{let k=this.latency.near(g,w);this.choose(k<0?null:o.index[k])});
let b=new Y(l("Requests under way over time"),100,o,this.view,!1);b.queue=e.server,this.binned.push(b),this.plots.push(this.latency,b);let u=o.embedding?null:new J(
l("Output tokens a second over time"),100,o,this.view,!1);u&&(this.tokens=u,this.rate.textContent=u.title(),this.binned.push(u),this.plots.push(u)),this.bars=new Z(
l("Requests as bars over time"),o,this.view,t),this.bars.whenChosen=g=>this.choose(g),this.plots.push(this.bars);let f=o.touched.some(g=>g>0)?[["k4","touched by\
 it: in no figure"]]:[],m=o.embedding?[["k0","E2E"]]:[["k1","TTFT"],["k0","E2E"]],v=o.spreads.map(g=>{let w=new G(l(g.title+" by percentile"),190,g);return w.other=
n?.plots.spreads.find(k=>k.name===g.name)??null,this.plots.push(w),h(g.title,w.other?[["k0","this run"],["k4","before"]]:[],w.canvas,r("span",{class:"soft"},g.note))});
this.el=r("div",{class:"run"},r("header",null,r("div",{class:"what"},r("h2",null,e.title),r("p",{class:"verdict"},e.verdict),...e.next.map(g=>r("p",{class:"next"},
g)),r("p",{class:"facts"},[e.id,...e.tags,...e.head].join(" · "))),r("div",{class:"choices"},this.repetitions(),r("label",null,"against ",this.against))),r("di\
v",{class:"cards"},...e.cards.map((g,w)=>r("div",{class:"card"},r("span",null,g.name),r("b",null,g.value),r("span",null,g.more),n?.cards[w]?.name===g.name&&r("s\
pan",{class:"before"},"before: "+n.cards[w].value)))),i&&it(i),r("div",{class:"axis"},r("div",{class:"plots"},h(o.embedding?"E2E of each request":"TTFT and E2E \
of each request",[...m,...f,["high","failed"],...d],c,r("label",null,p," logarithmic")),u&&h(this.rate,q(o)?[["compute","busiest second"],["k1","mean"]]:[],u.canvas),
h("Requests",[["host","under way"],...o.embedding?[]:[["k0","in decode"]],...e.server.length?[["k3","queued, as the server says"]]:[]],b.canvas),this.strip,h("R\
equests one by one",[["k1","until the first token"],["k0","decode"],["k4","end"],["high","failed"]],this.bars.canvas,this.note),r("p",{class:"hint"},"Drag to zo\
om all, double click for all of the run. Click a dot or a bar for what its request waited for.")),this.side),this.slow,r("section",null,r("h3",null,"Distributio\
ns"),r("div",{class:"spreads"},...v)),r("section",{class:"said"},r("h3",null,"What else is known"),r("dl",null,...e.facts.flatMap(g=>[r("dt",null,g.label),r("dd",
{class:g.severity&&"fact-"+g.severity},g.text)]))),...e.tables.map(g=>r("section",null,r("h3",null,g.title),de(g)))),this.view.whenMoved=()=>this.moved(),e.recorded&&
y(this.strip,r("p",{class:"soft"},"Reading the recorded steps…"))}store;run;requests;el;against=r("select",{"aria-label":"Compare with"});view;plots=[];latency;tokens=null;rate=r(
"span");binned=[];bars;lanes=null;steps=null;strip=r("div",{class:"strip"});slow=r("section",{class:"slow"});side=r("div",{class:"side"});note=r("span",{class:"\
soft"});chosen="";timer=0;start(){this.follow(this.store.params),this.restyle()}restyle(){for(let s of this.plots)s.draw()}close(){clearTimeout(this.timer);for(let s of this.
plots)s.drop()}repetitions(){let{run:s}=this;if(s.reps<2)return null;let e=r("select",{"aria-label":"Repetition"},...Array.from({length:s.reps},(t,n)=>r("option",
{value:n},`run ${n+1} of ${s.reps}`)));return e.value=String(s.rep),e.addEventListener("change",()=>this.store.set({rep:e.value,req:null,pass:null,lane:null},"p\
ush")),e}follow(s){let e=this.run.plots.bin_ns,t=this.run.plots.running.length*e,n=A(s,"b0",0)/e,i=A(s,"b1",t)/e;(Math.abs(n-this.view.lo)>1e-6||Math.abs(i-this.
view.hi)>1e-6)&&this.view.zoom(n,i);let o=JSON.stringify([s.req,s.lane,s.pass]);o!==this.chosen&&(this.chosen=o,s.req!==void 0?this.showRequest(A(s,"req",-1)):s.
pass!==void 0&&this.steps?this.showStep({lane:A(s,"lane",0),step:A(s,"pass",-1)}):this.bare())}moved(){let s=this.run.plots.bin_ns,e=this.view.hi-this.view.lo>=
this.view.cols-1e-9;this.store.set({b0:e?null:this.view.lo*s,b1:e?null:this.view.hi*s}),clearTimeout(this.timer),this.timer=window.setTimeout(()=>{this.refine()},
st)}async refine(){let s=this.run.plots,{lo:e,hi:t}=this.view,n={run:this.run.id,rep:this.run.rep,from:Math.round(Math.max(e*s.bin_ns,0)),to:Math.round(t*s.bin_ns)},
i=t-e<this.view.cols/2&&s.bin_ns>1e6,[o,l]=await Promise.all([i?M("load/timeline",n):null,this.requests.of>this.requests.index.length||this.requests.of<this.run.
plots.at.length?M("load/requests",n):null]);if(!(e!==this.view.lo||t!==this.view.hi)){for(let h of this.binned)h.fine=o,h.draw();this.tokens&&(this.rate.textContent=
this.tokens.title()),l&&this.take(l)}}take(s){this.requests=s,this.bars.show(s);let e=s.of-s.index.length;this.note.textContent=e>0?`${s.index.length} of ${s.of}\
 in sight`:""}zoom(s){let e=this.view.col>=0?this.view.col+.5:(this.view.lo+this.view.hi)/2,t=(this.view.hi-this.view.lo)/2*s;this.view.zoom(e-t,e+t)}pan(s){let e=(this.
view.hi-this.view.lo)*s;this.view.zoom(this.view.lo+e,this.view.hi+e)}whole(){this.view.zoom(0,this.view.cols)}captured(){let s=this.steps?.lanes.flatMap(o=>o.windows)??
[],e=s.length?s:this.run.plots.profiled;if(e.length===0)return;let t=Math.min(...e.map(o=>o.from)),n=Math.max(...e.map(o=>o.to)),i=(n-t)*.03;this.view.zoom((t-i)/
this.run.plots.bin_ns,(n+i)/this.run.plots.bin_ns)}choose(s){this.store.set({req:s,lane:null,pass:null},"push")}release(){this.store.params.req!==void 0||this.store.
params.pass!==void 0?this.choose(null):this.whole()}next(s){let e=this.requests.index,t=e.indexOf(A(this.store.params,"req",-1)),n=e[t<0?s>0?0:e.length-1:Math.min(
Math.max(t+s,0),e.length-1)];n!==void 0&&this.store.set({req:n,lane:null,pass:null})}bare(){this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,[]),this.
lanes?.light(null),this.panel(null)}panel(s){y(this.side,s),this.el.classList.toggle("open",s!==null)}async showRequest(s){let e=this.chosen,t=await M("load/req\
uest",{run:this.run.id,rep:this.run.rep,index:s});e===this.chosen&&(this.latency.chosen=this.run.plots.index.indexOf(s),this.latency.again(),this.bars.light(s,t.
with.map(n=>n.index)),this.lanes?.light(t.steps.length?t.steps:null),this.panel(He(t,this.steps,{request:n=>this.choose(n),timeline:(n,i,o)=>this.timeline(n,i,o),
close:()=>this.choose(null)})))}async showStep(s){let e=this.chosen,t=this.steps?.lanes[s.lane],n=await M("load/step",{run:this.run.id,lane:s.lane,step:s.step});
if(e!==this.chosen||!this.steps||!t)return;this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,n.with.map(o=>o.index)),this.lanes?.light([s]);let i=this.
timeline(s.lane,t.from[s.step],t.to[s.step]);this.panel(r("aside",{class:"panel","aria-label":"Step "+s.step},r("header",null,r("h2",null,`Step ${s.step}`),r("b\
utton",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:()=>this.choose(null)}},"×")),r("p",null,r("code",null,this.steps.names[t.name[s.step]])),
r("dl",null,r("dt",null,"where"),r("dd",null,$(t)),r("dt",null,"kind"),r("dd",null,this.steps.kinds[t.kind[s.step]]),r("dt",null,"from"),r("dd",null,x(t.from[s.
step])),r("dt",null,"took"),r("dd",null,x(t.to[s.step]-t.from[s.step]))),i&&r("p",null,r("a",{href:i},"see it in the timeline")),r("section",null,r("h3",null,n.
with.length?"Requests in it":"No request of this load was in it"),r("p",{class:"chips"},...n.with.map(o=>r("button",{class:"chip",title:o.id,on:{click:()=>this.
choose(o.index)}},String(o.index)))))))}timeline(s,e,t){let n=this.steps?.lanes[s];if(!n)return null;let i=Math.max((t-e)*.05,1e4);return E(S(this.store.params,
{tab:"timeline",c:this.run.id,t0:e+n.shift-i,t1:t+n.shift+i}))}join(s){this.steps=s;let e=r("canvas",{tabindex:"0",role:"img","aria-label":"Recorded steps over \
time"});y(this.strip,r("figure",null,r("figcaption",null,r("span",null,"Steps that were recorded"),r("span",{class:"keys"},...s.kinds.map((t,n)=>Be(["k0","k1","\
k2","k3","k4"][["decode","prefill","mixed","other","idle"].indexOf(t)]??"k"+n%5,t)),r("button",{class:"link",title:"Key: c",on:{click:()=>this.captured()}},"zoo\
m to them"))),e)),this.lanes=new Q(e,this.run.plots,this.view,s),this.lanes.whenChosen=t=>this.store.set({req:null,lane:t.lane,pass:t.step},"push"),this.plots.push(
this.lanes),this.lanes.draw(),y(this.slow,r("h3",null,"What the slow ones waited for",r("span",{class:"soft"},s.steps_by==="time"?", by time":", by request id")),
r("div",{class:"tails"},this.run.plots.embedding?null:this.tail("TTFT",s.ttft),this.tail("Time between tokens",s.itl)),...s.notes.map(t=>r("p",{class:"soft"},t))),
this.chosen="",this.follow(this.store.params)}unjoined(s){y(this.strip,r("p",{class:"soft"},"What the requests waited for in recorded steps is not known: "+s))}tail(s,e){
let t=[...new Set(e.cases)];return r("div",null,r("h4",null,s,r("span",{class:"soft"},e.n?`, p99 of ${e.n}: ${x(e.p99_ns)}`:"")),t.length===0?r("p",{class:"soft"},
"none in the recorded window"):ee(e.parts,!0),e.below&&r("p",{class:"soft"},"none at or above p99 is in the recorded window: this is the slowest one in it"),r("\
p",{class:"chips"},...t.slice(0,24).map(n=>r("button",{class:"chip",title:"what request "+n+" waited for",on:{click:()=>this.choose(n)}},String(n)))))}};function Be(a,s){
let e=r("i");return e.style.background=`var(--${a})`,r("span",{class:"key"},e,s)}function it(a){return r("section",{class:"compared"},r("h3",null,"B against A"),
r("dl",null,r("dt",null,"A"),r("dd",null,a.sides[0]),r("dt",null,"B"),r("dd",null,a.sides[1])),r("p",{class:"verdict"},a.verdict),a.unlike.length>0&&r("ul",null,
...a.unlike.map(s=>r("li",null,s))),...a.tables.map(s=>de(s)),...a.notes.map(s=>r("p",{class:"soft"},s)))}function je(a,s){return JSON.stringify([a.run??s.session.run,a.rep,a.vs])}var ue=class{constructor(s){this.context=s;let{keys:e}=s,t=n=>()=>this.page&&n(this.page);
e.bind("w +","Benchmark","zoom in",t(n=>n.zoom(.5))),e.bind("s -","Benchmark","zoom out",t(n=>n.zoom(2))),e.bind("a","Benchmark","go to earlier",t(n=>n.pan(-.25))),
e.bind("d","Benchmark","go to later",t(n=>n.pan(.25))),e.bind("0","Benchmark","show the whole run",t(n=>n.whole())),e.bind("c","Benchmark","show the captured wi\
ndow",t(n=>n.captured())),e.bind("j","Benchmark","the next request",t(n=>n.next(1))),e.bind("k","Benchmark","the request before",t(n=>n.next(-1))),e.bind("Escap\
e","Benchmark","let go of what is chosen",t(n=>n.release())),this.open()}context;el=r("div",{class:"bench"});page=null;shown="";gone=new AbortController;update(s){
je(s,this.context)===this.shown?this.page?.follow(s):this.open()}restyle(){this.page?.restyle()}close(){this.gone.abort(),this.page?.close()}open(){let{store:s,
session:e}=this.context,t=s.params,n=t.run??e.run;this.close(),this.page=null,this.shown=je(t,this.context),this.gone=new AbortController,n===""?this.choose():this.
show(n,t.rep,t.vs)}async choose(){let{signal:s}=this.gone,e=await M("load/runs",{},s);if(s.aborted)return;if(e.length===0){y(this.el,r("div",{class:"none"},r("h\
2",null,"No benchmark run yet"),r("p",null,"One is kept by each ",r("code",null,"stepscope bench serving --url http://HOST:30000"),"; with ",r("code",null,"--pr\
ofile")," its steps are recorded meanwhile.")));return}let t=["request throughput","output throughput","TTFT p50","TTFT p99","ITL p50","ITL p99"];y(this.el,r("h\
2",null,"Benchmark runs"),r("div",{class:"scroll"},r("table",null,r("thead",null,r("tr",null,r("th",null,"run"),r("th",null,"model"),r("th",null,"tags"),...t.map(
n=>r("th",{class:"r"},n)),r("th",null,"steps"))),r("tbody",null,...e.map(n=>r("tr",null,r("td",null,r("a",{href:this.at({run:n.id})},n.id),n.status!=="complete"&&
r("span",{class:"soft"}," "+n.status)),r("td",null,n.model),r("td",null,n.tags.join(", ")),...t.map(i=>{let o=n.numbers.find(l=>l.name===i);return r("td",{class:"\
r"},o?`${o.value.toPrecision(3)} ${o.unit??""}`:"–")}),r("td",null,n.traces>0?"recorded":"")))))))}at(s){return E(S(this.context.store.params,{tab:"bench",...s}))}async show(s,e,t){
let{signal:n}=this.gone,{store:i,session:o}=this.context,l={run:s,rep:e},h=t===void 0||t===s?null:{run:t},[d,p,c,b]=await Promise.all([M("load",l,n),M("load/req\
uests",l,n),h&&M("load",h,n),h&&M("load/compare",{run:s,vs:t},n)]);if(n.aborted)return;let u=this.page=new te(i,d,p,c,b);y(this.el,u.el),u.start();let f=u.against;
if(!o.exported){let m=await M("load/runs",{},n);if(n.aborted)return;y(f,r("option",{value:""},"no other run"),...m.filter(v=>v.id!==s).map(v=>r("option",{value:v.
id},[v.id,...v.tags].join(" ")))),f.value=t??"",f.addEventListener("change",()=>i.set({vs:f.value||null},"push")),f.disabled=f.options.length<2}if(d.recorded)try{
let m=await M("load/steps",{run:s},n);!n.aborted&&m.rep===d.rep?u.join(m):n.aborted||u.unjoined(`steps were recorded in repetition ${m.rep+1} of this load`)}catch(m){
if(n.aborted)return;u.unjoined(m instanceof Error?m.message:String(m))}}},$e={id:"bench",title:"Benchmark",needs:"runs",open:a=>new ue(a)};var Oe={id:"live",title:"Live",needs:"server",open:()=>({el:r("div",null)})};var pe={id:"runs",title:"Runs",needs:"runs",open:()=>({el:r("div",null)})};var ce=[re,ke,Me,Te,$e,Oe,pe],C=document.documentElement,Ne=matchMedia("(prefers-color-scheme: dark)");function ne(a){if(a instanceof DOMException&&a.name==="Ab\
ortError")return;let s=a instanceof Error?a.message:String(a);C.dataset.error??=s,O.hidden=!1,y(O,s)}addEventListener("error",a=>ne(a.error??a.message));addEventListener(
"unhandledrejection",a=>ne(a.reason));var O=r("p",{class:"trouble",role:"alert",hidden:!0}),H=r("main",{id:"main",tabindex:"-1"}),me=class{constructor(s){this.session=
s;let e=ce.filter(t=>this.offers(t));document.body.replaceChildren(r("a",{class:"skip",href:"#main",on:{click:t=>(t.preventDefault(),H.focus())}},"Skip to the v\
iew"),r("header",{class:"bar"},r("h1",null,"stepscope"),this.nav,r("span",{class:"space"}),this.picker,r("button",{class:"quiet",title:"Light or dark (key: \\)",
"aria-label":"Light or dark",on:{click:()=>this.turn()}},"◐"),r("button",{class:"quiet",title:"Keys (key: ?)","aria-label":"Keys",on:{click:()=>dispatchEvent(
new KeyboardEvent("keydown",{key:"?"}))}},"?")),O,H),e.forEach((t,n)=>this.keys.bind(String(n+1),"Everywhere","show "+t.title,()=>this.open(t.id))),this.keys.bind(
"\\","Everywhere","light or dark",()=>this.turn()),this.picker.addEventListener("change",()=>this.store.go(S(this.store.params,{tab:this.tab().id,c:this.picker.
value}))),this.store.follow((t,n)=>this.change(t,n)),Ne.addEventListener("change",()=>this.paint()),ve(()=>this.ready()),this.change(this.store.params,{})}session;store=new I;keys=new F;view=null;shown="";loose=[];nav=r(
"nav",{"aria-label":"Views"});picker=r("select",{"aria-label":"Capture",class:"capture"});offers(s){switch(s.needs){case"capture":return this.session.captures.length>
0||this.session.runs;case"server":return!this.session.exported;case"runs":return this.session.runs;case"nothing":return!0}}tab(){let{tab:s}=this.store.params,e=ce.
filter(n=>this.offers(n)),t=this.session.captures.length>0?re:pe;return e.find(n=>n.id===s)??e.find(n=>n===t)??e[0]}open(s){this.store.go(S(this.store.params,{tab:s}))}turn(){
this.store.set({theme:C.dataset.theme==="dark"?"light":"dark"})}paint(){let{theme:s}=this.store.params,e=C.dataset.theme;C.dataset.theme=s==="light"||s==="dark"?
s:Ne.matches?"dark":"light",C.dataset.theme!==e&&this.view?.restyle?.()}change(s,e){delete C.dataset.ready,this.paint();let t=this.tab(),n=this.session.captures,
i=n.find(l=>l.id===s.c)??(s.c===void 0?n[0]:void 0),o=JSON.stringify([t.id,s.c??n[0]?.id]);o===this.shown?this.view?.update?.(s,e):this.show(t,o,{session:this.session,
store:this.store,keys:this.scoped(),capture:i}),this.head(t,s),ie()&&this.ready()}scoped(){for(let t of this.loose.splice(0))t();let s=this.keys,e=this.loose;return Object.
assign(Object.create(s),{bind(...t){let n=s.bind(...t);return e.push(n),n}})}show(s,e,t){this.view?.close?.(),this.shown=e,O.hidden=!0,delete C.dataset.error;try{
this.view=s.open(t),H.className="view-"+s.id,H.replaceChildren(this.view.el)}catch(n){this.view=null,H.replaceChildren(),ne(n)}}head(s,e){y(this.nav,...ce.filter(
n=>this.offers(n)).map(n=>r("a",{href:E(S(e,{tab:n.id})),"aria-current":n===s?"page":null},n.title)));let t=this.session.captures;this.picker.hidden=t.length<2,
this.picker.hidden||(y(this.picker,...t.map(n=>r("option",{value:n.id},n.title))),this.picker.value=e.c??t[0].id),document.title=`${s.title} · ${t.find(n=>n.id===
e.c)?.title??t[0]?.title??"runs"} · stepscope`}ready(){requestAnimationFrame(()=>requestAnimationFrame(()=>{ie()&&(C.dataset.ready="1")}))}};document.body.replaceChildren(
O,H);M("session").then(a=>new me(a)).catch(ne);})();
