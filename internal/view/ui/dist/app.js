"use strict";(()=>{function T(a){let[t,e]=a.split("."),n=t.replace(/\B(?=(\d{3})+$)/g,",");return e===void 0?n:n+"."+e}function X(a){if(a===0)return"0";let t=Math.floor(Math.log10(
Math.abs(a)));return Math.abs(a)>=Math.pow(10,t+1)*(1-5e-4)&&t++,T(a.toFixed(Math.min(Math.max(2-t,0),20)))}function Ps(a,t){let e=t[t.length-1];if(a===0)return"\
0 "+e[1];for(let[n,s]of t)if(Math.abs(a)/n>=.9995)return(n===1&&Number.isInteger(a)?T(String(a)):X(a/n))+" "+s;return X(a)+" "+e[1]}function v(a){return Ps(a,[[
1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function Cs(a,t){let[e,n]=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]].find(([r])=>Math.abs(a)>=r)??[1,"ns"],s=Math.min(
Math.max(Math.ceil(Math.log10(e/t)-1e-9),0),9);return a===0?"0":T((a/e).toFixed(s))+" "+n}function le(a){return Ps(a,[[1e12,"TB"],[1e9,"GB"],[1e6,"MB"],[1e3,"kB"],
[1,"B"]])}function _(a){return X(a*100)+" %"}function he(a){return Math.abs(a)<5e-4?"less than 0.1 %":_(a)}function z(a){return(a>0?"+":"")+v(a)}function Q(a,t){
if(!(a>0))return[0];let e=a/t,n=Math.pow(10,Math.floor(Math.log10(e))),s=[1,2,5,10].find(i=>i*n>=e*.999)||10,r=[];for(let i=0;i<=a*1.0001;i+=s*n)r.push(i);return r}function yi(){let{theme:a}=document.documentElement.dataset;return a==="dark"||a!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function at(){let a=getComputedStyle(
document.documentElement),t=yi()?2:1;return e=>/light-dark\(\s*([^,]+?)\s*,\s*([^)]+?)\s*\)/.exec(a.getPropertyValue("--"+e))?.[t]??"#888888"}var Cn=[];var Y=class{constructor(t,e,n={}){this.height=e;this.canvas=typeof t=="string"?document.getElementById(t):t,this.left=n.left??58,this.bottom=n.bottom??22,this.canvas.
style.height=e+"px",Cn.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.width||this.draw())),this.sizes.observe(
this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),Cn.splice(Cn.indexOf(this),1)}area(){return{x:this.left,y:6,w:Math.
max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let t=this.canvas.clientWidth,e=window.devicePixelRatio||1;if(t===0)return;this.
width=t,this.canvas.width=Math.round(t*e),this.canvas.height=Math.round(this.height*e);let n=this.pen();n&&(this.paint(n),this.ground??=document.createElement("\
canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.mark(n),this.canvas.
dataset.drawn="1")}again(){let t=this.pen();if(!t||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();t.ctx.setTransform(1,0,0,1,0,0),t.ctx.clearRect(
0,0,this.canvas.width,this.canvas.height),t.ctx.drawImage(this.ground,0,0),this.mark({...t,ctx:this.sharp(t.ctx)})}sharp(t){let e=window.devicePixelRatio||1;return t.
setTransform(e,0,0,e,0,0),t}pen(){let t=this.canvas.getContext("2d");return t?(this.sharp(t).font="11px system-ui, sans-serif",{ctx:t,area:this.area(),color:at()}):
null}paint(t){}mark(t){}yAxis({ctx:t,area:e,color:n},s,r){t.textAlign="right",t.textBaseline="middle";let i=Math.max(e.h/45,2),l=Q(s,i);for(let h=i+1;l.length<3&&
h<i+6;h++)l=Q(s,h);for(let h of l){let p=e.y+e.h*(1-h/s);t.fillStyle=n("line"),t.fillRect(e.x,Math.round(p),e.w,1),t.fillStyle=n("soft"),t.fillText(r(h),e.x-6,p)}}};
function $s(){let a=document.getElementById("tip");if(a)return a;let t=document.createElement("div");return t.id="tip",t.setAttribute("role","status"),document.
body.appendChild(t)}function O(a,t,e,n){let s=$s(),r=document.createElement("dl");for(let[m,c]of n.rows){let f=document.createElement("dt"),g=document.createElement(
"dd");f.textContent=m,g.textContent=c,r.append(f,g)}let i=document.createElement("strong");i.textContent=n.title,s.replaceChildren(i,r),s.hidden=!1;let l=a.getBoundingClientRect(),
h=s.getBoundingClientRect(),p=document.documentElement.clientWidth,u=l.left+t+14;u+h.width>p-8&&(u=Math.max(l.left+t-14-h.width,4));let d=l.top+e+14;d+h.height>
window.innerHeight-4&&(d=Math.max(l.top+e-14-h.height,4)),s.style.left=u+window.scrollX+"px",s.style.top=d+window.scrollY+"px"}function P(){$s().hidden=!0}var Mt=class{constructor(t,e=4){
this.cols=t;this.least=e;this.hi=Math.max(t,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(t){this.moved||=t,!this.pending&&
(this.pending=requestAnimationFrame(()=>{let e=this.moved;this.pending=0,this.moved=!1;for(let n of this.plots)e?n.draw():n.again();e&&this.whenMoved()}))}zoom(t,e){
let n=Math.min(Math.max(e-t,this.least),this.cols),s=(t+e)/2;this.lo=Math.min(Math.max(s-n/2,0),this.cols-n),this.hi=this.lo+n,this.changed(!0)}point(t){this.col=
t<0?-1:Math.min(t,this.cols-1);let e=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-e/2,this.col+.5+e/2),this.changed(
!1)}};function D(a,t){let e=document.createElement("span"),n=document.createElement("i");return e.className="key",n.style.background=`var(${a})`,e.append(n,t),e}
function pe(a,t,e){if(a.measureText(t).width<=e)return t;let n=0,s=t.length;for(;n<s;){let r=n+s+1>>1;a.measureText(t.slice(0,r)+"…").width<=e?n=r:s=r-1}return n>
1?t.slice(0,n)+"…":""}function ue({captures:a}){return[...new Map(a.flatMap(e=>e.beside.length>0?e.beside:[e]).map(e=>[e.id,e])).values()]}var N=class extends Error{constructor(e,n){
super(e);this.status=n}status},$n=class a{constructor(t){this.blocks=t;this.index=this.block(0).then(e=>new Map(JSON.parse(new TextDecoder().decode(e)).map(([n,
...s])=>[n,s])))}blocks;static mostOpen=8;open=new Map;index;block(t){let e=this.open.get(t);if(e===void 0){let n=Uint8Array.from(atob(this.blocks[t]),s=>s.charCodeAt(
0));e=new Response(new Blob([n]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()}else this.open.delete(t);this.open.set(t,e);for(let n of this.
open.keys()){if(this.open.size<=a.mostOpen)break;this.open.delete(n)}return e}async answer(t){let e=(await this.index).get(t);if(e===void 0)throw new N("This is\
 not part of an exported page: open the capture with stepscope view.",404);return(await this.block(e[0])).slice(e[1],e[1]+e[2])}},Dt=(a=>a===null?null:new $n(JSON.
parse(a.textContent??"[]")))(document.getElementById("answers"));function Ut(a,t={}){let e=new URLSearchParams;for(let s of Object.keys(t).sort()){let r=t[s];for(let i of Array.
isArray(r)?r:[r])i!=null&&i!==""&&e.append(s,String(i))}let n=e.toString();return"api/"+a+(n===""?"":"?"+n)}var Hn=0,Hs=()=>{};function Os(a){Hs=a}async function Z(a){
Hn++;try{return await a}finally{setTimeout(()=>{--Hn===0&&Hs()})}}function jt(){return Hn===0}async function On(a,t){let e;try{e=await fetch(a,t)}catch(r){throw t.
signal?.aborted?r:new N("stepscope does not answer: has it stopped?",0)}if(e.ok)return e;let n=await e.text(),s=n;try{s=JSON.parse(n).error}catch{}throw new N(s,
e.status)}function M(a,t={},e){let n=Ut(a,t);return Z((async()=>Dt!==null?JSON.parse(new TextDecoder().decode(await Dt.answer(n))):await(await On(n,e?{signal:e}:
{})).json())())}function de(a,t={},e){let n=Ut(a,t);return Z((async()=>Dt!==null?Dt.answer(n):await(await On(n,e?{signal:e}:{})).arrayBuffer())())}function St(a,t,e={}){
if(Dt!==null)return Promise.reject(new N("an exported page has no server behind it",404));let n={method:"POST",headers:{"Content-Type":"application/json"},body:JSON.
stringify(t)};return Z((async()=>await(await On(Ut(a,e),n)).json())())}function o(a,t=null,...e){let n=document.createElement(a);for(let[s,r]of Object.entries(t??{}))if(!(r==null||r===!1))if(s==="on")for(let[i,l]of Object.entries(r))
n.addEventListener(i,l);else s==="data"?Object.assign(n.dataset,r):s==="class"?n.className=String(r):n.setAttribute(s,r===!0?"":String(r));return qs(n,...e),n}function qs(a,...t){
for(let e of t)e==null||e===!1||a.append(typeof e=="number"?String(e):e)}function y(a,...t){a.replaceChildren(),qs(a,...t)}var ki={ArrowLeft:"←",ArrowRight:"→",ArrowUp:"↑",ArrowDown:"↓",Escape:"Esc"," ":"Space",Enter:"Enter"};function Mi(a){return(a==="+"?[a]:a.split("+")).map(
t=>ki[t]??t).join(" + ")}var ce=class{bindings=[];dialog=null;constructor(){addEventListener("keydown",t=>this.press(t)),this.bind("?","Everywhere","show the ke\
ys",()=>this.show())}bind(t,e,n,s){let r={keys:t===" "?[" "]:t.split(" "),help:n,group:e,run:s};return this.bindings.push(r),()=>{this.bindings=this.bindings.filter(
i=>i!==r)}}press(t){if(t.defaultPrevented||document.querySelector("dialog[open]")!==null)return;let e=t.target;if(e instanceof HTMLInputElement&&!["checkbox","r\
adio","button","range"].includes(e.type)||e instanceof HTMLSelectElement||e instanceof HTMLTextAreaElement){t.key==="Enter"&&e.type==="search"&&e.blur(),t.key===
"Escape"&&(e.type==="search"&&e.value!==""&&(e.value="",e.dispatchEvent(new Event("input"))),e.blur());return}if(e instanceof HTMLInputElement&&e.type==="range"&&
t.key.startsWith("Arrow"))return;let s=t.altKey&&/^[^\w ]$/.test(t.key),r=(!s&&(t.ctrlKey||t.metaKey)?"Ctrl+":"")+(!s&&t.altKey?"Alt+":"")+(t.shiftKey&&t.key.length>
1?"Shift+":"")+t.key,i=this.bindings.findLast(l=>l.keys.includes(r));i!==void 0&&(t.preventDefault(),i.run(t))}show(){this.dialog??=document.body.appendChild(o(
"dialog",{class:"keys-dialog","aria-label":"Keys"}));let t=new Map;for(let e of this.bindings)t.set(e.group,[...t.get(e.group)??[],e]);y(this.dialog,o("h2",null,
"Keys"),o("div",{class:"keys-groups"},...[...t].map(([e,n])=>o("section",null,o("h3",null,e),o("dl",null,...n.flatMap(s=>[o("dt",null,...s.keys.flatMap((r,i)=>[
i>0&&" ",o("kbd",null,Mi(r))])),o("dd",null,s.help)]))))),o("form",{method:"dialog"},o("button",{class:"button"},"Close"))),this.dialog.showModal(),this.dialog.
scrollTop=0}};function _t(a){let t=Object.create(null);for(let[e,n]of new URLSearchParams(a.replace(/^#/,"")))e!==""&&n!==""&&(t[e]=n);return t}function L(a){let t=Object.keys(
a).sort((e,n)=>+(n==="tab")-+(e==="tab")||(e<n?-1:1));return"#"+new URLSearchParams(t.map(e=>[e,a[e]])).toString()}function Wt(a,t){let e=Object.assign(Object.create(
null),a);for(let[n,s]of Object.entries(t))s==null||s===""?delete e[n]:e[n]=typeof s=="number"?String(Math.round(s)):s;return e}function C(a,t,e){let n=a[t];return n!==
void 0&&/^-?\d{1,15}$/.test(n)?Number(n):e}function A(a,t){let e=Object.create(null);for(let n of["theme","c","run","vs","panel"])a[n]!==void 0&&(e[n]=a[n]);return Wt(
e,t)}var me=class{listeners=[];params=_t(location.hash);constructor(){addEventListener("hashchange",()=>this.take(_t(location.hash)))}follow(t){this.listeners.push(
t)}set(t,e="replace"){this.go(Wt(this.params,t),e)}go(t,e="push"){let n=L(t);n!==L(this.params)&&(e==="push"?history.pushState(null,"",n):history.replaceState(null,
"",n),this.take(t))}take(t){let e=this.params;this.params=t;for(let n of this.listeners)n(t,e)}};function ft(a){return["compute","transfer","wait","unrecorded","copy"].includes(a)?a:"idle: "+a}function gt(a,t,e){let n=document.createElement("span"),s=a.filter(
i=>i.ns>0),r=s.reduce((i,l)=>i+l.ns,0);n.className="bar wide",n.role="img",n.ariaLabel=n.title=s.map(e).join(", "),n.style.width=t*100+"%";for(let i of s){let l=n.
appendChild(document.createElement("i"));l.className="s-"+i.name,l.style.width=i.ns/r*100+"%"}return n}function Tt(a){let t=["decode","prefill","mixed","other","idle"].indexOf(a);return"k"+(t<0?3:t)}function bt(a,t){let e=a.filter(n=>n>0).sort((n,s)=>n-s);return e.
length?e[Math.floor(t*(e.length-1))]:0}var ot=class extends Y{constructor(e,n,s,r,i,l=28){super(e,n,{left:i,bottom:l});this.data=s;this.view=r;this.grid=s.grid,
r.plots.push(this),this.listen()}data;view;grid;x(e,n){return n.x+(e-this.view.lo)/(this.view.hi-this.view.lo)*n.w}colAt(e){let n=this.area();return this.view.lo+
(e-n.x)/n.w*(this.view.hi-this.view.lo)}colOf(e){let{first:n,last:s}=this.grid,r=0,i=n.length-1;for(;r<i;){let l=r+i+1>>1;n[l]<=e?r=l:i=l-1}return n.length&&n[r]<=
e&&e<=s[r]?r:-1}stepName(e){let n=this.grid,s=n.kind[e]<0?"several kinds":this.data.kinds[n.kind[e]];return(n.first[e]===n.last[e]?"step "+n.first[e]:`steps ${n.
first[e]}–${n.last[e]}`)+", "+s}xAxis({ctx:e,area:n,color:s}){let r=this.grid,i=this.view,l=n.y+n.h,h=Math.max(Math.floor(i.lo),0),p=Math.min(Math.ceil(i.hi),
r.cols);if(this.data.kinds.length>1)for(let f=h;f<p;f++){let g=Math.max(this.x(f,n),n.x),x=Math.min(this.x(f+1,n),n.x+n.w);e.fillStyle=s(r.kind[f]<0?"k4":Tt(this.
data.kinds[r.kind[f]])),e.fillRect(g,l+3,Math.max(x-g-(x-g>3?1:0),.5),4)}e.textAlign="center",e.textBaseline="top",e.fillStyle=s("soft");let u=(p-h)*r.bucket,d=Q(
u,Math.max(n.w/70,2)),m=Math.max(Math.round(d.length>1?d[1]:1),1),c=-1/0;for(let f=h;f<p;f++){let g=Math.ceil(r.first[f]/m)*m,x=this.x(f+(r.bucket===1?.5:(g-r.first[f])/
r.bucket),n);g>r.last[f]||x-c<30||x<n.x||x>n.x+n.w||(e.fillText(String(g),x,l+10),c=x)}}mark({ctx:e,area:n,color:s}){let r=this.view.col;if(r<this.view.lo-1||r>
this.view.hi)return;let i=Math.max(this.x(r,n),n.x),l=Math.min(this.x(r+1,n),n.x+n.w);r<0||l<=i||(e.strokeStyle=s("mark"),e.globalAlpha=.7,e.strokeRect(i+.5,n.y+
.5,Math.max(l-i-1,1),n.h-1),e.globalAlpha=1)}tip(e,n){return null}tipAt(e,n){return null}rowAt(e){return 0}rows(){return 1}point(e,n,s,r){this.rows()>1&&(this.view.
row=n),this.view.point(e);let i=s!==void 0&&r!==void 0&&this.tipAt(s,r)||this.tip(this.view.col,n),l=this.area();if(!i)return P();O(this.canvas,s??this.x(this.view.
col+.5,l),r??l.y+l.h*(n+.5)/this.rows(),i)}onpick=null;listen(){let e=this.canvas,n=this.view,s=NaN;e.addEventListener("pointerdown",r=>{s=r.offsetX}),e.addEventListener(
"pointermove",r=>{let i=Math.floor(this.colAt(r.offsetX));if(i<0||i>=this.grid.cols||r.offsetX<this.left)return this.leave();this.point(i,this.rowAt(r.offsetY),
r.offsetX,r.offsetY)}),e.addEventListener("pointerup",r=>{if(Math.abs(r.offsetX-s)>8){let i=this.colAt(s),l=this.colAt(r.offsetX);n.zoom(Math.min(i,l),Math.max(
i,l))}else n.col>=0&&this.onpick?.(n.col,this.rowAt(r.offsetY));s=NaN}),e.addEventListener("pointerleave",()=>this.leave()),e.addEventListener("blur",()=>this.leave()),
e.addEventListener("dblclick",()=>n.zoom(0,n.cols)),e.addEventListener("keydown",r=>{this.key(r.key,r.shiftKey)&&r.preventDefault()})}leave(){P(),this.view.point(
-1)}key(e,n){let s=this.view,r=s.col<0?Math.floor(s.lo):s.col,i=s.col<0?(s.lo+s.hi)/2:s.col+.5,l=(s.hi-s.lo)/2,h=n?10:1,p=this.rows()>1?s.row:0;switch(e){case"A\
rrowLeft":return this.point(Math.max(r-h,0),p),!0;case"ArrowRight":return this.point(Math.min(s.col<0?r:r+h,s.cols-1),p),!0;case"ArrowUp":case"ArrowDown":return this.
rows()<2?!1:(this.point(r,Math.min(Math.max(s.row+(e==="ArrowUp"?-h:h),0),this.rows()-1)),!0);case"Home":return this.point(0,p),!0;case"End":return this.point(s.
cols-1,p),!0;case"+":case"=":return s.zoom(i-l/2,i+l/2),!0;case"-":return s.zoom(i-l*2,i+l*2),!0;case"Enter":return!this.onpick||s.col<0?!1:(this.onpick(s.col,p),
!0);case"Escape":return this.leave(),s.zoom(0,s.cols),!0}return!1}};var fe=class extends ot{rank=-1;share=!1;values=[];constructor(t,e,n="bars"){super(n,240,t,e),this.pick(-1)}pick(t){let e=this.grid,n=this.data.ranks.length;this.
rank=t,this.values=e.parts.map(({ns:s})=>{if(t>=0)return s.slice(t*e.cols,(t+1)*e.cols);let r=new Array(e.cols).fill(-1);for(let i=0;i<e.cols;i++){let l=0,h=0;for(let p=0;p<
n;p++){let u=s[p*e.cols+i];u>=0&&(l+=u,h++)}h&&(r[i]=l/h)}return r})}total(t){return this.values.reduce((e,n)=>e+Math.max(n[t],0),0)}paint(t){let{ctx:e,area:n,color:s}=t,
r=this.view,i=Math.max(Math.floor(r.lo),0),l=Math.min(Math.ceil(r.hi),this.grid.cols),h=[];for(let f=i;f<l;f++)h.push(this.total(f));let p=Math.max(...h,1),u=bt(
h,.9),d=this.share?1:p>3*u&&u>0?u*1.3:p*1.05;this.yAxis(t,d,this.share?_:v),Si("bars",!this.share&&p>d?p:0);let m=this.grid.parts.map(f=>s(f.name)),c=n.w/(r.hi-
r.lo)>=5?1:0;for(let f=i;f<l;f++){let g=Math.max(this.x(f,n),n.x),x=Math.min(this.x(f+1,n),n.x+n.w),b=h[f-i],w=0;for(let k=0;k<this.values.length;k++){let R=Math.
max(this.values[k][f],0)/(this.share&&b||1),S=Math.min(w+R,d);S>w&&(e.fillStyle=m[k],e.fillRect(g,n.y+n.h*(1-S/d),Math.max(x-g-c,.6),n.h*(S-w)/d)),w=S}if(!this.
share&&b>d){let k=(g+x-c)/2;e.fillStyle=s("mark"),e.beginPath(),e.moveTo(k-4,n.y+7),e.lineTo(k+4,n.y+7),e.lineTo(k,n.y+1),e.fill()}}this.xAxis(t)}tip(t){let e=this.
rank<0?"mean over ranks":this.data.ranks[this.rank],n=this.total(t),s=[["total",v(Math.round(n))]];return this.grid.parts.forEach((r,i)=>{let l=Math.max(this.values[i][t],
0);l>0&&s.push([ft(r.name),`${v(Math.round(l))} · ${_(l/(n||1))}`])}),{title:`${this.stepName(t)}, ${e}`,rows:s}}};function Si(a,t){let e=document.getElementById(
"cut-"+a),n=t?`▼ cut: up to ${v(Math.round(t))}`:"";e&&e.textContent!==n&&(e.textContent=n)}function I(a){return[parseInt(a.slice(1,3),16),parseInt(a.slice(3,5),16),parseInt(a.slice(5,7),16)]}function U(a,t){let e=Math.min(Math.max(t,0),1)*(a.length-1),
n=Math.min(Math.floor(e),a.length-2),s=e-n;return a[n].map((r,i)=>Math.round(r+(a[n+1][i]-r)*s))}function Nn(a,t,e){let n=[],s=0;for(let r=0;r<t;r++){let i=[];for(let l=e>
2?1:0;l<e;l++)i.push(Math.abs(a[r*e+l]));for(let l of i)n.push(l);s=Math.max(s,bt(i,.9))}return Math.max(s,bt(n,.98))}function zn(a,t,e,n){let s=0,r=0;for(let p=0;p<
a.length;p++)a[p]>s&&(s=a[p]),a[p]<r&&(r=a[p]);let i=t*1.0005,l=e?"+":"",h=[];return s>i&&h.push("up to "+l+n(s)),r<-i&&h.push("down to "+n(r)),[(r<-i?"≤ ":"")+
(e?n(-t):"0"),(s>i?"≥ ":"")+l+n(t),h.length>0?"; cut: "+h.join(", "):""]}var _i=64,qn=9,ge=class extends ot{constructor(e,n,s,r,i,l){let h=Math.ceil(n.ranks.length/
_i),p=Math.ceil(n.ranks.length/h),u=Math.max(Math.min(Math.floor(240/p),24),4);super(e,p*u+34,n,s,Math.max(64,10+7.5*Math.max(...n.ranks.map(d=>Math.min(d.length,
qn)))));this.what=r;this.scale=l;this.per=h,this.values=n.grid[r],this.both=r!=="wait",this.limit=Math.max(this.usual(),i,1),this.drawScale()}what;scale;values;per;both;limit;only=-1;usual(){
return Nn(this.values,this.data.ranks.length,this.grid.cols)}rows(){return Math.ceil(this.data.ranks.length/this.per)}rankOf(e,n){let s=e*this.per,r=-1;for(let i=s;i<
Math.min((e+1)*this.per,this.data.ranks.length);i++){let l=i*this.grid.cols+n,h=this.grid.parts[0].ns[l]<0?0:this.values[l],p=h>0?2*h:-h;p>r&&([s,r]=[i,p])}return s}rowOf(e){
return Math.floor(e/this.per)}rowAt(e){let n=this.area();return Math.min(Math.max(Math.floor((e-n.y)/n.h*this.rows()),0),this.rows()-1)}drawScale(){let e=this.scale;
if(!e)return;let n=document.createElement("i");n.style.background=this.both?"linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))":"lin\
ear-gradient(to right, var(--cold), var(--warm), var(--hot))";let[s,r,i]=zn(this.values,this.limit,this.both,v);e.replaceChildren(s,n,r+i)}paint(e){let{ctx:n,area:s,
color:r}=e,i=this.grid,l=this.view,h=this.rows(),p=[I(r("cold")),I(r("warm")),I(r("hot"))],u=[I(r("cold")),I(r("under"))],d=r("panel"),m=s.h/h,c=Math.max(Math.floor(
l.lo),0),f=Math.min(Math.ceil(l.hi),i.cols),g=s.w/(l.hi-l.lo)>=5?1:0,x=m>=8?1:0;for(let b=0;b<h;b++)for(let w=c;w<f;w++){let k=this.rankOf(b,w)*i.cols+w,R=Math.
max(this.x(w,s),s.x),S=Math.min(this.x(w+1,s),s.x+s.w);if(i.parts[0].ns[k]<0)n.fillStyle=d;else{let $=this.values[k]/this.limit,[H,q,B]=$<0?U(u,-$):U(p,$);n.fillStyle=
`rgb(${H},${q},${B})`}n.fillRect(R,s.y+b*m,Math.max(S-R-g,.6),Math.max(m-x,1))}this.labels(e,m),this.xAxis(e),this.outline(e,m)}labels({ctx:e,area:n,color:s},r){
e.textAlign="right",e.textBaseline="middle";let i=Math.ceil(12/r),l=new Map(this.data.findings.flatMap(h=>h.kind==="straggler"?h.ranks:[]).map(h=>[this.rowOf(h),
h]));for(let h=0;h<this.rows();h++){let p=l.get(h),u=[...l.keys()].some(c=>c!==h&&Math.abs(c-h)<i);if(p===void 0&&(h%i!==0||i>1&&u))continue;let d=this.data.ranks[p??
h*this.per];e.fillStyle=s(p!==void 0?"text":"soft");let m=d.length>qn?d.slice(0,qn-1)+"…":d;e.fillText(m,n.x-6,n.y+(h+.5)*r)}}outline({ctx:e,area:n,color:s},r){
e.save(),e.beginPath(),e.rect(n.x-2,n.y-2,n.w+4,n.h+4),e.clip(),e.strokeStyle=s("mark"),e.lineWidth=1.5;for(let[i,l]of this.data.findings.entries()){if(l.first<
0||(this.only>=0?i!==this.only:l.kind!=="straggler")||this.only<0&&(this.what==="work"&&l.cause==="host"||this.what==="host"&&l.cause!=="host"))continue;let h=this.
colOf(l.first),p=this.colOf(l.last);if(h<0)continue;let u=this.x(h,n),d=this.x((p<0?this.grid.cols-1:p)+1,n);for(let m of new Set(l.ranks.map(c=>this.rowOf(c))))
e.strokeRect(u-.5,n.y+m*r-.5,d-u,r)}e.restore()}mark({ctx:e,area:n,color:s}){let r=n.h/this.rows(),i=this.view.col;i<0||i+1<this.view.lo||i>this.view.hi||(e.strokeStyle=
s("mark"),e.globalAlpha=.45,e.strokeRect(this.x(i,n),n.y,Math.max(this.x(i+1,n)-this.x(i,n),1),n.h),e.globalAlpha=1,e.lineWidth=2,e.strokeRect(this.x(i,n),n.y+this.
view.row*r,Math.max(this.x(i+1,n)-this.x(i,n)-1,1),r-1),e.lineWidth=1)}tip(e,n){let s=this.grid,r=this.rankOf(n,e),i=r*s.cols+e,l=Math.min(this.per,this.data.ranks.
length-n*this.per)-1,h=`${this.data.ranks[r]}, ${this.stepName(e)}${l>0?`; less of ${l} more`:""}`;if(s.parts[0].ns[i]<0)return{title:h,rows:[["this rank lacks \
the step",""]]};let p=s.parts[0].ns[i];return{title:h,rows:[["own work",v(p)],["beyond the median rank",z(s.work[i])],["host gap beyond the median",z(s.host[i])],
["waited",v(s.wait[i])],...s.batch[e]>=0?[["batch",String(s.batch[e])]]:[],...s.tokens[e]>=0?[["tokens",String(s.tokens[e])]]:[]]}}};function Ns(a,t){let{parts:e}=a.
grid,n=e[0].ns.length;if(t==="work")return bt(e[0].ns,.5)*.1;let s=[];for(let r=0;r<n;r++)s.push(e.reduce((i,l)=>i+Math.max(l.ns[r],0),0));return bt(s,.5)*.1}var zs={compact:!1,by:"",late:!1,pins:[]},Ti=9,Ri=129;function Is(a,t){return{compact:t>=Ti,by:t>=Ri?a.groupings[0]?.id??"":""}}function Rt(a,t){return a.groupings.
find(e=>e.id===t)}function be(a,t,e){let n=Rt(a,t.by);return n===void 0||e<0||t.pins.includes(e)?"":"g"+n.of[e]}function Et(a,t,e,n){let s=m=>a.late_ns[m]??0,r=new Set(
n.pins),i=e.length>0?new Set(e):null,l=n.pins.filter(m=>i===null||i.has(m)).map(m=>({rank:m,pinned:!0,inside:!1})),h=(i!==null?[...e]:a.ranks.map((m,c)=>c)).filter(
m=>!r.has(m));n.late&&h.sort((m,c)=>s(c)-s(m)||m-c);let p=Rt(a,n.by);if(p===void 0)return l.concat(h.map(m=>({rank:m,pinned:!1,inside:!1})));let u=new Map;for(let m of h){
let c=u.get(p.of[m]);c===void 0?u.set(p.of[m],[m]):c.push(m)}let d=[...u];n.late||d.sort((m,c)=>m[0]-c[0]);for(let[m,c]of d){let f=t.has("g"+m);if(l.push({group:m,
name:p.groups[m],ranks:c,open:f,lanes:p.lanes[m]}),f)for(let g of c)l.push({rank:g,pinned:!1,inside:!0})}return l}function In(a,t){let e=new Set;for(let n of(a??
"").split(",")){let s=/^(\d{1,7})(?:-(\d{1,7}))?$/.exec(n);if(s!==null)for(let r=Number(s[1]),i=Math.min(Number(s[2]??s[1]),t-1);r<=i;r++)e.add(r)}return[...e]}
function G(a){let t=[];for(let e=0;e<a.length;){let n=e;for(;n+1<a.length&&a[n+1]===a[n]+1;)n++;if(n-e>=2)t.push(`${a[e]}-${a[n]}`);else for(let s=e;s<=n;s++)t.
push(String(a[s]));e=n+1}return t.length>0?t.join(","):null}function ve(a,t,e=4){let n=t.slice(0,e).map(r=>a.ranks[r]),s=t.length-n.length;return s>0?`${n.join(
", ")} and ${s} more`:n.length>1?`${n.slice(0,-1).join(", ")} and ${n[n.length-1]}`:n[0]??""}function we(a,t){let e=a.trim().split(/[\s,]+/),n=new Map(t.ranks.map(
(i,l)=>[i.toLowerCase(),l])),s=[],r=-1;for(let i=0;i<e.length;i++){let l=e[i].toLowerCase(),h=n.get(l);if(h!==void 0)s.push(h);else if(l==="step"&&/^\d{1,9}$/.test(
e[i+1]??"")&&Number(e[i+1])<t.steps.length)r=Number(e[++i]);else return null}return s.length>0||r>=0?{ranks:s,step:r}:null}function lt(a){let t=new Map;for(let e of(a??"").split("|")){let n=e.replaceAll("%7C","|").replaceAll("%25","%"),s=n.lastIndexOf("=");s>0&&t.set(n.slice(0,s),n.
slice(s+1))}return t}function tt(a){let t=Gt(a).map(e=>e.replaceAll("%","%25").replaceAll("|","%7C"));return t.length>0?t.join("|"):null}function Gt(a){return[...a].
map(([t,e])=>t+"="+e)}function Vt(a,t,e){let n=new Map(a);return n.delete(t),e!=="1"&&n.set(t,e),n}function V(a,t){return a===""?t:a+"."+t}function ht(a){return a===
"peers"?"like its peers":a==="0"?"removed":Number(a)===1?"unchanged":"× "+Number(a)}function et(a){return tt(new Map(a.set.map(t=>[t.slice(0,t.lastIndexOf("=")),t.slice(t.lastIndexOf("=")+1)])))??""}function xe(a){return[...lt(et(a))].map(([t,e])=>`${t}\
 ${ht(e)}`).join(", ")}function ye(a,{exported:t}){return t===null||a.set.length===1&&t.whatif.includes(a.set[0])}function ke(a,t){let e=new Set(a.set.map(s=>t.
findIndex(r=>s.startsWith(r+".")))),[n]=e;return e.size===1&&n>=0?n:null}var Lt=[["work","own work beyond the median rank"],["host","host gap beyond the median rank"],["wait","waiting for other ranks"]];function Me(a,t){let e=a.end_ns-
a.start_ns,n=a.span>=0?{sel:a.span}:{r0:a.start_ns,r1:a.end_ns};return{tab:"timeline",step:a.step<0?null:a.step,rank:a.rank,t0:a.start_ns-e,t1:a.end_ns+e,find:t.
id,...n}}var Fn=class{constructor(t){this.context=t;let{keys:e,store:n}=t,s=r=>{let i=this.overview?.findings.length??0;i>0&&n.set({sel:Math.min(Math.max(C(n.params,
"sel",-1)+r,0),i-1)})};e.bind("j ArrowDown","Summary","next finding",()=>s(1)),e.bind("k ArrowUp","Summary","previous finding",()=>s(-1)),e.bind("Enter","Summar\
y","show the finding in the timeline",()=>{let r=this.overview?.findings[C(n.params,"sel",-1)];r?.at&&n.go(A(n.params,Me(r.at,r)))}),e.bind("m","Summary","next \
measure of the map",()=>{let r=Lt.findIndex(([i])=>i===this.measure());n.set({map:Lt[(r+1)%Lt.length][0]})}),M("summary",{c:n.params.c}).then(r=>{this.overview=
r,this.show(r)})}context;el=o("div",{class:"summary"});plots=[];steps=null;map=null;open=()=>{};overview=null;shown=null;marked(){let t=C(this.context.store.params,
"sel",-1),e=this.overview;return e.findings[t]!==void 0?t:e.chart.findings.findIndex(n=>n.first>=0&&n.ranks.length>0)}first(){return this.overview?.findings[C(this.
context.store.params,"sel",-1)]?.measure??this.context.capture.map}measure(){let t=this.context.store.params.map;return Lt.some(([e])=>e===t)?t:this.first()}link(t,...e){
return o("a",{href:L(A(this.context.store.params,t))},...e)}show(t){let e=t.chart.grid.cols>0,n=t.caveat!==""&&o("p",{class:"caveat"},o("strong",null,"Incomplet\
e: "),t.caveat);y(this.el,o("section",{class:"answer-line"},t.no_fault&&n,...t.watched.map(s=>o("div",{class:"watch"},o("p",{class:"verdict"},s.says),s.more.length>
0&&o("details",null,o("summary",null,"what the watch saw"),o("pre",null,s.more.join(`
`))))),t.verdict!==""&&o("p",{class:t.watched.length>0?"in-window":"verdict"},t.watched.length>0&&"In this window: ",t.verdict),o("p",{class:"facts"},t.head.join(
" · ")),!t.no_fault&&n),o("section",{class:"found","aria-label":"Findings"},o("h2",null,"Findings"),...t.findings.map((s,r)=>this.finding(t,s,r)),t.findings.length===
0&&o("p",{class:"soft"},"Nothing stands out."),...t.says.map(s=>o("p",{class:"note"},s))),o("div",{class:"seen"},o("section",{"aria-label":"Where the time goes"},
this.times(t)),e&&o("section",{"aria-label":"Steps"},...this.strips(t))),t.left_out.length>0&&o("details",{class:"left"},o("summary",null,"Not shown in this vie\
w"),o("ul",null,...t.left_out.map(s=>o("li",null,s))))),this.plot(t),this.select()}finding(t,e,n){let r=e.evidence.map(i=>o("li",null,i.text,i.short!==""&&o("co\
de",{title:i.name},i.short),i.kernel&&!i.name.includes(`
`)&&this.link({tab:"kernels",q:i.name},"kernel"),i.at&&this.link(Me(i.at,e),i.at.step<0?"timeline":"step "+i.at.step)));return o("article",{class:"finding sev-"+
e.severity,data:{finding:String(n)},on:{click:()=>this.context.store.set({sel:n})}},o("header",null,o("span",{class:"severity"},e.severity),o("span",{class:"cos\
t"},e.cost)),o("h3",null,e.title),o("p",{class:"chips"},...e.ranks.slice(0,6).map(i=>o("span",{class:"chip"},t.chart.ranks[i]??"#"+i)),e.ranks.length>6&&o("span",
{class:"chip"},`and ${e.ranks.length-6} more`),e.at&&e.ranks.length>1&&e.ranks.length<t.chart.ranks.length&&this.link({...Me(e.at,e),rank:e.ranks[0],only:G(e.ranks),
order:"late"},`all ${e.ranks.length} in the timeline`),e.steps!==""&&o("span",{class:"chip"},e.steps),e.cause!==""&&o("span",{class:"chip"},"cause: "+e.cause),e.
passing&&o("span",{class:"chip"},"transient"),o("span",{class:"space"}),e.what_if.length>0&&ye({finding:e.title,set:e.what_if},this.context.session)&&this.whatIf(
{finding:e.title,set:e.what_if}),e.at&&o("span",{class:"go"},this.link(Me(e.at,e),"Show in the timeline"))),r.length>0&&o("ul",{class:"evidence"},...r.slice(0,3)),
r.length>3&&o("details",null,o("summary",null,`and ${r.length-3} more`),o("ul",{class:"evidence"},...r.slice(3))),(e.next.length>0||e.guide!=="")&&o("ul",{class:"\
next"},...e.next.map(i=>o("li",null,i)),e.guide!==""&&o("li",null,"More on this: ",o("code",null,"stepscope guide "+e.guide))))}whatIf(t){return this.link({tab:"\
whatif",set:et(t),rank:ke(t,this.context.capture?.ranks??[])},"What if")}times(t){let e=[...new Set(t.times.map(h=>h.kind))],n=e.includes(this.context.store.params.
kind??"")?this.context.store.params.kind:e.includes("all")?"all":e[0],s=t.times.filter(h=>h.kind===n&&(h.rank>=0||t.chart.ranks.length>1)),r=t.parts.filter((h,p)=>s.
some(u=>u.parts[p]>0)),i=Math.max(...s.map(h=>h.per_step_ns),1),l=o("select",{"aria-label":"Steps of kind",on:{change:()=>this.context.store.set({kind:l.value===
"all"?null:l.value})}},...e.map(h=>o("option",{value:h,selected:h===n},h==="all"?"all steps":h)));return o("div",{class:"times"},o("h2",null,"Where the time goe\
s",o("span",{class:"space"}),e.length>2&&l),o("div",{class:"split",role:"table","aria-label":"Time of a mean step by rank"},...s.map(h=>o("div",{role:"row",class:h.
rank<0?"all":""},o("span",{role:"rowheader"},h.rank<0?"all ranks":t.chart.ranks[h.rank]??"#"+h.rank),o("span",{role:"cell",class:"track"},this.split(t,h,i)),o("\
span",{role:"cell",class:"number"},v(h.per_step_ns))))),o("p",{class:"keys"},...r.map(h=>D("--"+h,ft(h)))),o("ul",{class:"explained"},...t.colours.filter(h=>h.kind===
n).map(h=>o("li",null,D("--"+h.part,""),o("span",null,h.text,h.finding>=0&&o("a",{href:L({...this.context.store.params,sel:String(h.finding)})},"finding"))))))}split(t,e,n){
let s=t.parts.map((r,i)=>({name:r,label:ft(r),ns:e.parts[i]}));return gt(s,e.per_step_ns/n,r=>`${r.label} ${_(r.ns/e.total_ns)}`)}strips(t){let e=o("span",{class:"\
tools",role:"group","aria-label":"Measure"},...Lt.map(([n,s])=>o("button",{class:"choice","aria-pressed":String(n===this.measure()),data:{measure:n},title:s,on:{
click:()=>this.context.store.set({map:n===this.first()?null:n})}},n)));return[t.chart.ranks.length>1&&o("figure",null,o("figcaption",null,o("span",null,"Ranks ×\
 steps: ",o("span",{class:"measure"})),o("span",{class:"scale"}),e),o("canvas",{id:"map",tabindex:"0",role:"img","aria-label":"Heat map, ranks by steps: arrows \
move, Enter opens the timeline there"})),o("figure",null,o("figcaption",null,o("span",null,"Time of each step"),o("span",{class:"scale",id:"cut-bars"})),o("canv\
as",{id:"bars",tabindex:"0",role:"img","aria-label":"Stacked bars, where the time of each step goes: arrows move, Enter opens the timeline there"}))]}plot(t){for(let i of this.
plots.splice(0))i.drop();if(this.map=null,t.chart.grid.cols===0)return;let e=this.steps=new Mt(t.chart.grid.cols),n=(i,l)=>{let h=t.chart.grid.first[i];this.context.
store.go(A(this.context.store.params,{tab:"timeline",step:h,rank:l,...this.around(t,h)}))};this.open=n;let s=this.el.querySelector("#map");s&&this.draw(t,s,n);let r=new fe(
t.chart,e,this.el.querySelector("#bars"));r.onpick=i=>n(i,0),this.plots.push(r),r.draw()}draw(t,e,n){let s=this.shown=this.measure(),r=e.cloneNode(!1);e.replaceWith(
r),this.map&&(this.steps.plots.splice(this.steps.plots.indexOf(this.map),1),this.plots.splice(this.plots.indexOf(this.map),1),this.map.drop()),this.map=new ge(r,
t.chart,this.steps,s,Ns(t.chart,s),this.el.querySelector("figure .scale"));let{map:i}=this;i.only=this.marked(),this.steps.row=i.rowOf(t.chart.findings[i.only]?.
ranks[0]??0),i.onpick=(l,h)=>n(l,i.rankOf(h,l)),this.plots.push(this.map),this.map.draw(),y(this.el.querySelector(".measure"),Lt.find(([l])=>l===s)[1]);for(let l of this.
el.querySelectorAll("[data-measure]"))l.ariaPressed=String(l.dataset.measure===s)}around(t,e){let n=t.chart.lengths,s=n.step.indexOf(e);return s<0?{}:{t0:n.at[s]-
n.ns[s]/10,t1:n.at[s]+n.ns[s]*1.1}}select(){let t=C(this.context.store.params,"sel",-1);for(let n of this.el.querySelectorAll("[data-finding]")){let s=n.dataset.
finding===String(t);n.classList.toggle("selected",s),s&&n.scrollIntoView({block:"nearest"})}let e=this.overview?.findings[t];!this.steps||!this.map||(this.map.only!==
this.marked()&&(this.map.only=this.marked(),this.map.draw()),e?.at&&(this.steps.row=this.map.rowOf(e.at.rank),this.steps.point(this.map.colOf(e.at.step))))}update(t,e){
let n=this.overview;if(!n)return;t.kind!==e.kind&&this.el.querySelector(".times")?.replaceWith(this.times(n));let s=this.el.querySelector("#map");this.measure()!==
this.shown&&s&&this.draw(n,s,this.open),this.select()}restyle(){for(let t of this.plots)t.draw()}close(){for(let t of this.plots.splice(0))t.drop()}},Se={id:"su\
mmary",title:"Summary",needs:"capture",open:a=>new Fn(a)};function _e(a){let t=[],e=[...new Set(a)].sort((n,s)=>n-s);for(let n=0,s=0;n<e.length;n++)e[n+1]!==e[n]+1&&(t.push(s===n?String(e[n]):`${e[s]}-${e[n]}`),s=n+1);
return t.join(",")}function Fs(a,t){let e=new Set;for(let n of(a??"").split(",")){let s=/^(\d{1,9})(?:-(\d{1,9}))?$/.exec(n);if(s!==null)for(let r=Number(s[1]);r<=
Math.min(Number(s[2]??s[1]),t-1);r++)e.add(r)}return[...e]}function Bs(a,t,e,n){let s=Math.min(t,e),r=Math.max(t,e),i=[];for(let l of a.groups)for(let h of l.rows)
h.y<=r&&h.y+h.height>s&&i.push(h.row);return i.length>1||n?i:[]}function vt(a,t){let e=(a.t1-a.t0)/Math.max(t,1);return Math.min(Math.max(Math.ceil(Math.log2(e)),0),40)}function Te(a,t){let e=512*2**t;return[Math.floor(a.t0/
e),Math.max(Math.ceil(a.t1/e)-1,Math.floor(a.t0/e))]}function pt(a,t){let e=Math.max(t.t1-t.t0,50),n=Math.min(Math.max(a.t1-a.t0,50),e*1.5),r=(a.t0+a.t1)/2-n/2;
return n>=e*1.04?r=(t.t0+t.t1)/2-n/2:r=Math.min(Math.max(r,t.t0-n*.5),t.t1-n*.5),{t0:r,t1:r+n}}function Ds(a,t,e,n){let s=a.t1-a.t0,r=Math.max(n.t1-n.t0,50)*1.5,
i=Math.min(Math.max(s*e,50),Math.max(r,s))/s;return pt({t0:t-(t-a.t0)*i,t1:t+(a.t1-t)*i},n)}function Re(a,t,e){let n=(a.t1-a.t0)*t;return pt({t0:a.t0+n,t1:a.t1+
n},e)}function At(a,t,e,n,s=!1){let r=a.t1-a.t0;if(!s&&t>=a.t0+r*.02&&t+e<=a.t1-r*.02&&e>r/400)return a;let i=s||e>r||e<r/400?Math.max(e*(s?1.6:24),50):r,l=t+e/
2;return pt({t0:l-i/2,t1:l+i/2},n)}function Us(a,t,e){let n=(a.t1-a.t0)*e/Math.max(t,1),s=10**Math.floor(Math.log10(n)),r=Math.max(([1,2,5,10].find(i=>i*s>=n*.999)??
10)*s,1);return{step:r,first:Math.ceil(a.t0/r)*r}}var Bn=[{by:"wall",title:"wall clock",help:"by the clocks of the ranks"},{by:"step",title:"step start",help:"shifts each rank so that one step begins at the sam\
e position on all"},{by:"collective",title:"collective entry",help:"shifts each rank so that all enter one collective at the same position"},{by:"stretched",title:"\
stretched",help:"stretches each rank's time between collectives to that of the last rank to arrive"}];function js(a,t,e){let n=C(a,t,NaN),s=C(a,e,NaN);return n<
s?{t0:n,t1:s}:null}function Dn(a,t,e,n=a.steps){let s=1/0,r=-1/0;for(let i=t;i<=e;i++){let l=n[i];l===void 0||l.end_ns===0||(s=Math.min(s,l.start_ns),r=Math.max(
r,l.end_ns))}return s<r?pt({t0:s-(r-s)*.06,t1:r+(r-s)*.06},Ee(a)):null}function Ee(a){return{t0:a.from_ns,t1:Math.max(a.to_ns,a.from_ns+1)}}function Un(a){let[t,
e]=a.window_ns;return{t0:t,t1:Math.max(e,t+1)}}function wt(a,t){let e=C(a,"step",-1),n=C(a,"rank",-1),s=js(a,"t0","t1"),r=Bn.some(u=>u.by===a.align)?a.align:"wa\
ll",i=t.findings.find(u=>u.id===a.find)??t.findings[0]??null,l=u=>Number.isInteger(u)&&u>=0&&u<t.ranks.length,h=In(a.only,t.ranks.length),p=Is(t,h.length>0?h.length:
t.ranks.length);return{view:s!==null?pt(s,Ee(t)):Dn(t,e,e)??Un(t),step:e<t.steps.length?e:-1,by:r==="stretched"&&!t.stretch||r==="step"&&(e<0||e>=t.steps.length)?
"wall":r,at:C(a,"at",0),only:h,how:{compact:a.rows==="compact"||a.rows!=="full"&&p.compact,late:a.order==="late",pins:In(a.pin,t.ranks.length),by:a.group==="non\
e"?"":Rt(t,a.group??"")!==void 0?a.group:p.by},open:new Set((a.open??"").split(",").filter(u=>/^[gr]?\d+$/.test(u))),rank:l(n)?n:-1,sel:l(n)?C(a,"sel",-1):-1,range:js(
a,"r0","r1"),rows:Fs(a.area,t.rows.length),q:a.q??"",found:i,heat:a.heat??(t.ranks.length>1&&t.steps.length>1?a.find!==void 0&&i?.measure||t.measure:"off"),counters:t.
counters>0&&a.counters!=="off",y:Math.max(C(a,"y",0),0),sort:a.sort??"-self"}}var Le=30;function Ae(a,t){return t==="B"?le(a):t==="share"?_(a):(Number.isInteger(a)||a>=1e3?T(String(Math.round(a))):X(a))+(t===""?"":" "+t)}function Ei(a,t){
let e=0,n=a.at.length;for(;e<n;){let s=e+n>>1;a.at[s]<=t?e=s+1:n=s}return e===0?null:a.at[e-1]===t?a.high[e-1]:a.last[e-1]}function Pe(a){let t=a.series.reduce(
(e,n)=>n.low.reduce((s,r)=>Math.min(s,r),e),a.peak);return t>.6*a.peak&&t<a.peak?t-.25*(a.peak-t):0}var Ce=class{constructor(t,e){this.count=t;this.events=e;this.
canvas.addEventListener("pointermove",n=>this.hover(n.offsetX,n.offsetY)),this.canvas.addEventListener("pointerleave",()=>P())}count;events;canvas=o("canvas",{role:"\
img","aria-label":"Counters"});legend=o("div",{class:"legend"});el=o("div",{class:"tl-above tl-counters",hidden:!0},this.legend,this.canvas);answer=null;drawn=null;named="";async rest(t,e,n){
this.count>0&&(this.answer=await this.events.load(t,Math.max(Math.min(Math.round(e),1e3),100),n))}paint(t,e,n,s){if(this.el.hidden=t===null||this.answer===null||
this.count===0,this.el.hidden||t===null||this.answer===null)return;let{answer:r,canvas:i}=this,{counters:l}=r,h=l.length*Le,p=window.devicePixelRatio||1,u=i.getContext(
"2d",{alpha:!1});this.drawn={view:t,width:e},i.style.width=e+"px",i.style.height=h+"px",i.width=Math.round(e*p),i.height=Math.round(h*p),u.setTransform(p,0,0,p,
0,0),u.fillStyle=n.name("bg"),u.fillRect(0,0,e,h);let d=e/(t.t1-t.t0),m=(r.to_ns-r.from_ns)/r.columns,c=f=>(r.from_ns+f*m-t.t0)*d;l.forEach((f,g)=>{let x=(g+1)*
Le-2,b=Pe(f),w=Math.max(f.peak-b,1e-9),k=S=>x-(S-b)/w*(Le-6);for(let S of[...f.series].sort(($,H)=>+($.rank===s)-+(H.rank===s))){let $=S.rank===s&&s>=0,H=f.series.
length===1;u.fillStyle=u.strokeStyle=n.name($||H?"strong":"medium"),u.lineWidth=$||H?1.5:1,u.globalAlpha=$||H?1:.65,u.beginPath(),S.at.forEach((q,B)=>{let j=Math.
max(c(q),-5),F=Math.min(c(B+1<S.at.length?S.at[B+1]:r.columns),e+5);F<j||(u.moveTo(j,k(S.low[B])),u.lineTo(j,k(S.high[B])),u.moveTo(j,k(S.last[B])),u.lineTo(F,k(
S.last[B])),H&&(u.globalAlpha=.2,u.fillRect(j,k(S.last[B]),F-j,x-k(S.last[B])),u.globalAlpha=1))}),u.stroke()}u.globalAlpha=1;let R=(f.peak_ns-t.t0)*d;R>=0&&R<=
e&&(u.fillStyle=n.name("high"),u.fillRect(R-2,k(f.peak)-2,4,4)),u.fillStyle=n.name("line"),u.fillRect(0,x+1,e,1)}),this.names(l)}names(t){let e=JSON.stringify(t.
map(n=>[n.title,n.peak,n.peak_of,Pe(n)]));e!==this.named&&(this.named=e,y(this.legend,...t.map(n=>{let s=n.all>1||n.peak_rank>=0?", "+n.peak_of:"";return o("div",
{class:"tl-counter"},o("span",{title:n.title},n.title,Pe(n)>0&&o("span",{class:"tl-soft"}," from "+Ae(Pe(n),n.unit))),o("button",{class:"tl-link",title:`The pea\
k: ${Ae(n.peak,n.unit)}${s}. Shows this moment.`,on:{click:()=>this.events.peak(n.peak_ns,n.peak_rank)}},`peak ${Ae(n.peak,n.unit)}${s}`))})))}hover(t,e){let{answer:n,
drawn:s}=this,r=n?.counters[Math.floor(e/Le)];if(n===null||s===null||r===void 0)return P();let i=s.view.t0+t/s.width*(s.view.t1-s.view.t0),l=Math.floor((i-n.from_ns)/
(n.to_ns-n.from_ns)*n.columns),h=r.series.map(p=>[p.name,(u=>u===null?"–":Ae(u,r.unit))(Ei(p,l))]);O(this.canvas,t,e,{title:r.title,rows:[["at",v(Math.round(i))],
...h]})}};var $e=16,Kt=18,Li=3,Ai=8,Pt=16;function jn(a,t){return a.role==="launches"||a.role==="thread"||a.role==="python"?Math.min(a.lanes,t<=2?6:t<=4?4:t<=8?2:1):Math.
min(a.lanes,2)}var Ws=new WeakMap;function He(a){let t=Ws.get(a);if(t===void 0){t=a.ranks.map(()=>[]);for(let e=0;e<a.rows.length;e++)t[a.rows[e].rank].push(e);
Ws.set(a,t)}return t}function Vs(a,t){let e=He(a)[t],n=r=>e.filter(i=>a.rows[i].role===r&&a.rows[i].pinned),s=[...n("compute"),...n("communication")].slice(0,2);
return s.length>0?s:e.slice(0,1)}function Gs(a,t){return t<2?[{y:a,height:Pt-1}]:[{y:a,height:9},{y:a+10,height:5}]}function Oe(a,t,e,n=zs){let s={groups:[],sums:[],
lanes:[],height:0},{groups:r,lanes:i}=s,l=e.length>0?e.length:a.ranks.length,h=He(a),p=0;for(let u of Et(a,t,e,n)){if("group"in u){s.sums.push({...u,y:p});let g=u.
lanes.filter(b=>b>=0),x=Gs(p,g.length);g.forEach((b,w)=>i.push({lane:b,row:-1,rank:-1,...x[w]})),p+=Pt;continue}let{rank:d,pinned:m,inside:c}=u,f={rank:d,y:p,height:0,
rows:[],folded:0,open:t.has("r"+d),line:!1,pinned:m,inside:c};if(r.push(f),n.compact&&!m&&!f.open&&!h[d].some(g=>t.has(String(g)))){f.line=!0;let g=Vs(a,d),x=Gs(
p,g.length);g.forEach((b,w)=>{i.push({lane:a.rows[b].lane,row:b,rank:d,...x[w]}),f.rows.push({row:b,...x[w],lanes:1})}),p+=f.height=Pt;continue}p+=Kt;for(let g of h[d]){
let x=a.rows[g];if(!x.pinned&&!f.open){f.folded++;continue}let b=t.has(String(g))?x.lanes:jn(x,m?n.pins.length:l);f.rows.push({row:g,y:p,height:b*$e,lanes:b});for(let w=0;w<
b;w++)i.push({lane:x.lane+w,row:g,rank:d,y:p+w*$e,height:$e-1});p+=b*$e+Li}p+=Ai,f.height=p-f.y}return s.height=p,s}function Ct(a,t,e){let n=0,s=a.length;for(;n<
s;){let i=n+s>>1;a[i].y+a[i].height<=t?n=i+1:s=i}let r=[];for(let i=n;i<a.length&&a[i].y<e;i++)r.push(a[i]);return r}function Wn(a,t){return t.groups.flatMap(e=>e.
rows.map(n=>n.row)).concat(t.sums.filter(e=>!e.open).flatMap(e=>e.ranks.flatMap(n=>Vs(a,n))))}function qe(a,t){return G(Wn(a,t).sort((e,n)=>e-n))??""}function Ks(a,t){
let e=new Set(a);return e.delete(t)||e.add(t),e}var Pi={compute:"compute",communication:"communication",launches:"launches",ranges:"ranges of",python:"Python of",profiler:"profiler"};function Xt(a){return Math.
min(220,Math.floor(a/4))}var Ne=class{constructor(t,e,n){this.turn=e;this.pin=n;for(let s of t.blamed)for(let r of s.ranks)this.blamed.has(r)||this.blamed.set(r,
s.title)}turn;pin;el=o("div",{class:"tl-gutter"});blamed=new Map;from=0;to=0;lacks(t,e,n){return t<this.from||Math.min(t+e,n)>this.to}draw(t,e,n){let s=Math.max(
n,600);this.from=Math.max(e-s,0),this.to=e+n+s;let r=document.activeElement?.dataset.key,i=this.el.contains(document.activeElement),l=[],h=(f,g)=>{f.style.top=g+
"px",l.push(f)},p=(f,g)=>f+g>this.from&&f<this.to,u=0,{sums:d,groups:m}=t.plan,c=f=>{for(;u<d.length&&d[u].y<f;u++)p(d[u].y,Pt)&&h(this.group(t,d[u]),d[u].y)};for(let f of m)
c(f.y),p(f.y,f.height)&&(h(f.line?this.line(t,f):this.rank(t,f),f.y),f.line||this.rows(t,f,h));c(1/0),y(this.el,...l),this.el.style.height=Math.max(t.plan.height,
n)+"px",i&&r!==void 0&&this.el.querySelector(`[data-key="${r}"]`)?.focus({preventScroll:!0})}moved({moved:t},e){if(t===null||t.by==="wall"||t.by==="stretched")return"";
let n=t.moved_ns[e];return t.known[e]?n!==0?"moved "+z(n):"":"not moved"}pinButton(t,e,n){let s=t.head.ranks[e];return t.head.ranks.length>2&&o("button",{class:"\
tl-pin","aria-pressed":String(n),"aria-label":"Pin "+s,title:(n?"Unpin ":"Pin ")+s+" on top, to compare it (key: p)",data:{key:"p"+e},on:{click:()=>this.pin(e)}},
n?"◆":"◇")}late(t,e){let n=this.blamed.get(e),s=t.head.late_ns[e]??0;return n===void 0&&!t.how.late?!1:o("span",{class:"tl-late"+(n!==void 0?" blamed":""),title:(n!==
void 0?n+". ":"")+`It arrives at collectives ${z(s)} a step after the median rank.`},n!==void 0&&s<=0?"late":z(s))}rank(t,e){let{head:n}=t,s=n.ranks[e.rank],r=this.
moved(t,e.rank),i=e.folded>0||e.open;return o("div",{class:"tl-rank"+(e.rank===t.here?" here":"")+(e.inside?" inside":"")},o("span",null,s),i&&o("button",{"aria\
-expanded":String(e.open),title:(e.open?"Fold rows of ":"Unfold all rows of ")+s,data:{key:"r"+e.rank},on:{click:()=>this.turn("r"+e.rank)}},o("span",{"aria-hid\
den":"true"},e.open?"▾ ":"▸ "),e.open?"fewer":`${e.folded} more`),r===""?this.late(t,e.rank):o("span",{class:"moved",title:r},r),o("span",{class:"space"}),this.
pinButton(t,e.rank,e.pinned))}line(t,e){let n=t.head.ranks[e.rank],s=this.moved(t,e.rank);return o("div",{class:"tl-rank tl-line"+(e.rank===t.here?" here":"")+(e.
inside?" inside":"")},o("button",{"aria-expanded":"false",title:"Unfold all rows of "+n,data:{key:"r"+e.rank},on:{click:()=>this.turn("r"+e.rank)}},o("span",{"a\
ria-hidden":"true"},"▸ "),n),s===""?this.late(t,e.rank):o("span",{class:"moved",title:s},s),o("span",{class:"space"}),this.pinButton(t,e.rank,!1))}group(t,e){
let n=e.ranks.reduce((h,p)=>(t.head.late_ns[p]??0)>(t.head.late_ns[h]??0)?p:h,e.ranks[0]),s=e.ranks.filter(h=>this.blamed.has(h)),r=s.length>0?s.includes(n)?n:s[0]:
n,i="g"+e.group,l=Rt(t.head,t.how.by)?.id??"group";return o("div",{class:"tl-rank tl-line tl-group"+(!e.open&&e.ranks.includes(t.here)?" here":"")},o("button",{
"aria-expanded":String(e.open),title:`${e.open?"Fold":"Open"} ${l} ${e.name}: ${e.ranks.length} ranks. The row shows the mean of their compute and communication\
 rows, by the wall clock (key: e).`,data:{key:i},on:{click:()=>this.turn(i)}},o("span",{"aria-hidden":"true"},e.open?"▾ ":"▸ "),e.name,o("span",{class:"tl-s\
oft"},` ${e.ranks.length}`)),o("span",{class:"space"}),(s.length>0||t.how.late)&&!e.open&&o("span",{class:"tl-soft tl-worst"},t.head.ranks[r]," ",s.length>1&&`+${s.
length-1} `),!e.open&&this.late(t,r))}rows(t,e,n){let{head:s}=t,r=e.pinned?t.how.pins.length:t.plan.groups.length;for(let i of e.rows){let l=s.rows[i.row],h=Pi[l.
role],p=l.lanes>jn(l,r),u=[h!==void 0&&o("b",null,h),(h!==void 0?" ":"")+l.name,l.deeper>0&&` (${l.deeper} spans nested deeper)`],d=`${s.ranks[l.rank]}: ${h??""}\
 ${l.name}, ${l.spans} spans in ${l.lanes} lane${l.lanes===1?"":"s"}`,m=o("div",{class:"tl-row",title:d},p?o("button",{title:d,"aria-expanded":String(i.lanes===
l.lanes),data:{key:String(i.row)},on:{click:()=>this.turn(String(i.row))}},i.lanes===l.lanes?"▾ ":"▸ ",...u):o("span",{class:"tl-name",title:d},...u));m.style.
height=i.height+"px",n(m,i.y)}}};function Xs(a,t,e,n,s,r,i,l){let h=window.devicePixelRatio||1,p=a.getContext("2d");a.width=Math.round(n*h),a.height=Math.round(
s*h),p.setTransform(h,0,0,h,0,0),p.fillStyle=l;for(let u of t.groups){let d=u.y-e,m=r.get(u.rank),c=u.line?Pt:Kt-3,f=u.line?4:Kt-5;if(m===void 0||d>s||d+Kt<0)continue;
let g=n/m.length;m.forEach((x,b)=>{let w=Math.min(Math.abs(x)/Math.max(i,1),1)*f;w>.5&&p.fillRect(b*g,d+c-w,Math.max(g,1),w)})}}function Ci(a,t,e,n){let s=new Float64Array(a),r=s.subarray(0,e*n),i=s.subarray(e*n,(e+1)*n),l=new Float64Array(r.length);for(let h=0;h<r.length;h++)l[h]=t.beyond?
r[h]-i[h%n]:r[h];return{measure:t,values:r,median:i,shown:l,limit:Math.max(Nn(l,e,n),t.floor,1)}}var ze=a=>a>0?2*a:-a;function $i(a,t,e,n,s){let r=new Float64Array(
n*s).fill(NaN);for(let i=0;i<t.length;i++){let l=Math.floor(i*n/t.length);for(let h of t[i])for(let p=0;p<e;p++){let u=a[h*e+p],d=l*s+Math.floor(p*s/e);!Number.
isNaN(u)&&!(ze(r[d])>=ze(u))&&(r[d]=u)}}return r}function Ys(a,t,e,n){let s=[];for(let r=0;r<t;r++)Number.isNaN(a[r*e+n])||s.push([a[r*e+n],r]);return s.sort((r,i)=>r[0]-
i[0]||r[1]-i[1]),s.length>0?s[s.length-1>>1][1]:-1}var Gn=16,Ie=class{constructor(t,e,n){this.head=t;this.events=e;this.redraw=n;this.ranks=t.ranks.length,this.
steps=t.steps.length,this.late=new Set(t.blamed.flatMap(s=>s.ranks)),this.el=o("div",{class:"tl-heat"},o("div",{class:"tl-heat-head"},o("span",{class:"tl-title"},
"Ranks × steps"),this.choices,o("span",{class:"space"}),this.scale),o("div",{class:"tl-map"},this.canvas,this.outlines,this.brushed,this.box)),this.listen()}head;events;redraw;el;canvas=o(
"canvas",{tabindex:"0",role:"img"});box=o("div",{class:"tl-cell",hidden:!0});brushed=o("div",{class:"tl-brush",hidden:!0});outlines=o("div",{class:"tl-marked"});marked=null;scale=o(
"span",{class:"scale"});choices=o("span",{role:"group","aria-label":"Measure of the map"});ranks;steps;asked="";cells=null;at=null;lines=[];late;small=document.
createElement("canvas");drawn=[];shownSteps=[-1,-1];list(t){this.at=null,this.lines=t.map(e=>"group"in e?{name:`${e.open?"▾":"▸"} ${e.name}`,ranks:e.ranks,group:e.
group,open:e.open,late:e.ranks.some(n=>this.late.has(n))}:{name:this.head.ranks[e.rank],ranks:[e.rank],group:-1,open:!1,late:this.late.has(e.rank)}),this.point(
null)}get measure(){return this.asked}async show(t){let e=this.head.measures.find(s=>s.id===t);if(this.el.hidden=e===void 0||this.steps===0,y(this.choices,...this.
head.measures.map(s=>o("button",{class:"choice","aria-pressed":String(s.id===t),on:{click:()=>this.events.choose(s.id)}},s.title))),this.el.hidden||e===void 0||
t===this.asked)return;this.asked=t;let n=await this.events.load(t);this.asked===t&&(this.cells=Ci(n,e,this.ranks,this.steps),this.redraw())}view(t,e){this.shownSteps=
[t,e],this.place(this.brushed,t<0||t===0&&e===this.steps-1?null:{line:0,lines:this.lines.length,step:t,steps:e-t+1})}height(){let t=Math.max(this.lines.length,1);
return Math.min(Math.max(t*Math.min(Math.max(Math.floor(120/t),3),18),36),256)}area(){let t=Xt(this.canvas.clientWidth);return{x:t,w:Math.max(this.canvas.clientWidth-
t-8,10),h:this.height()}}place(t,e){if(t.hidden=e===null,e===null)return;let n=this.area();t.style.left=n.x+e.step/this.steps*n.w-1+"px",t.style.width=Math.max(
e.steps/this.steps*n.w,2)+1+"px",t.style.top=e.line/this.lines.length*n.h-1+"px",t.style.height=Math.max(e.lines/this.lines.length*n.h,2)+1+"px"}paint(t){if(this.
el.hidden)return;let e=this.height();this.canvas.style.height=e+Gn+"px";let n=this.canvas.clientWidth,s=window.devicePixelRatio||1;if(n===0)return;this.canvas.width=
Math.round(n*s),this.canvas.height=Math.round((e+Gn)*s);let r=this.canvas.getContext("2d",{alpha:!1});r.setTransform(s,0,0,s,0,0),r.fillStyle=t.name("bg"),r.fillRect(
0,0,n,e+Gn),r.font="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",this.labels(r,t),this.cells!==null&&this.map(r,t,this.cells),this.view(...this.
shownSteps),this.mark()}mark(){let t=this.marked,e=[];if(t!==null){let n=new Set(t.ranks),s=this.lines.flatMap((r,i)=>!(r.group>=0&&r.open)&&r.ranks.some(l=>n.has(
l))?[i]:[]);for(let r=0,i=0;r<s.length;r++){if(s[r+1]===s[r]+1)continue;let l=o("div",{class:"tl-found"});this.place(l,{line:s[i],lines:r-i+1,step:t.first,steps:Math.
min(t.last,this.steps-1)-t.first+1}),e.push(l),i=r+1}}y(this.outlines,...e)}labels(t,e){let n=this.area(),s=this.lines.length,r=n.h/s,i=new Uint8Array(Math.ceil(
n.h)+24);t.textAlign="right",t.textBaseline="middle";let l=(m,c)=>{let f=Math.min(Math.max((c+.5)*r,6),n.h-6),g=Math.max(Math.round(f)-6,0);i.subarray(g,g+12).some(
x=>x>0)||(i.fill(1,g,g+12),t.fillStyle=e.name(m.late?"high":"soft"),t.fillText(pe(t,m.name,n.x-12),n.x-8,f))};this.lines.forEach((m,c)=>m.late&&l(m,c));let h=Math.
max(Math.ceil(12/r),1);for(let m=0;m<s;m+=h)l(this.lines[m],m);t.textBaseline="top",t.textAlign="center";let p=Math.max(Math.ceil(this.steps*44/n.w),1),u=10**Math.
floor(Math.log10(p)),d=[1,2,5,10].map(m=>m*u).find(m=>m>=p)??p;for(let m=0;m<this.steps;m+=d)t.fillText(String(m),n.x+(m+.5)/this.steps*n.w,n.h+4)}map(t,e,n){let s=this.
area(),r=Math.min(this.lines.length,s.h),i=Math.min(this.steps,Math.floor(s.w)),l=[n,this.lines,e,r,i];if(l.some((h,p)=>h!==this.drawn[p])&&this.pixels(e,n,r,i),
this.drawn=l,t.imageSmoothingEnabled=!1,t.drawImage(this.small,s.x,0,s.w,s.h),t.fillStyle=e.name("bg"),s.w/i>=6)for(let h=1;h<i;h++)t.fillRect(s.x+Math.round(h/
i*s.w)-1,0,1,s.h);if(s.h/r>=8)for(let h=1;h<r;h++)t.fillRect(s.x,Math.round(h/r*s.h)-1,s.w,1);t.fillStyle=e.name("strong"),this.lines.forEach((h,p)=>h.open&&t.fillRect(
s.x-5,p/this.lines.length*s.h+1,2,(h.ranks.length+1)/this.lines.length*s.h-2)),this.say(n)}pixels(t,e,n,s){let r=$i(e.shown,this.lines.map(c=>c.ranks),this.steps,
n,s),{small:i}=this;i.width=s,i.height=n;let l=i.getContext("2d"),h=c=>I(t.name(c)),p=[h("cold"),h("warm"),h("hot")],u=[h("cold"),h("under")],d=l.createImageData(
s,n),m=h("panel");for(let c=0;c<r.length;c++){let f=r[c]/e.limit,[g,x,b]=Number.isNaN(f)?m:f<0?U(u,-f):U(p,f);d.data.set([g,x,b,255],4*c)}l.putImageData(d,0,0)}say(t){
let e=o("i",null);e.style.background=t.measure.beyond?"linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))":"linear-gradient(to right,\
 var(--cold), var(--warm), var(--hot))";let[n,s,r]=zn(t.shown,t.limit,t.measure.beyond,i=>this.text(i,t.measure));y(this.scale,o("span",null,n),e," "+s+(t.measure.
beyond?" beyond the median rank":"")+r),this.canvas.setAttribute("aria-label",`Heat map of ${t.measure.title}, ${this.ranks} ranks by ${this.steps} steps: arrow\
s move, Enter opens the step`)}text(t,e){return e.unit==="ns"?v(Math.round(t)):T(String(Math.round(t)))}cellAt(t,e){let n=this.area(),s=Math.floor((t-n.x)/n.w*this.
steps),r=Math.floor(e/n.h*this.lines.length);return s>=0&&s<this.steps&&r>=0&&r<this.lines.length?{line:r,step:s}:null}rankAt(t,e){let n=s=>this.cells?.shown[s*
this.steps+e]??NaN;return t.ranks.reduce((s,r)=>!(ze(n(s))>=ze(n(r)))&&!Number.isNaN(n(r))?r:s,t.ranks[0])}pick(t){let e=this.lines[t.line];e.group>=0?this.events.
open(e.group):this.events.pick(e.ranks[0],t.step)}point(t){this.at=t,this.place(this.box,t&&{line:t.line,lines:1,step:t.step,steps:1});let e=this.cells;if(t===null||
e===null)return P();let n=this.lines[t.line],s=this.rankAt(n,t.step),r=this.head.ranks[s],i=e.values[s*this.steps+t.step],l=e.measure,h=this.head.steps[t.step],
p=this.area();O(this.canvas,p.x+(t.step+.5)/this.steps*p.w,(t.line+.5)/this.lines.length*p.h,{title:`${n.group<0?r:`${n.name.slice(2)}: ${r} of ${n.ranks.length}\
 ranks`}, step ${t.step}, ${h.kind}`,rows:Number.isNaN(i)?[["this rank lacks the step",""]]:[[l.title,this.text(i,l)],["median rank",this.text(e.median[t.step],
l)],["beyond it",l.unit==="ns"?z(Math.round(i-e.median[t.step])):this.text(i-e.median[t.step],l)]]})}listen(){let t=this.canvas,e=null,n=s=>{let r=this.area();return this.
cellAt(Math.min(Math.max(s,r.x),r.x+r.w-1),0)};t.addEventListener("pointerdown",s=>{e=s.offsetX,t.setPointerCapture(s.pointerId)}),t.addEventListener("pointermo\
ve",s=>{let r=this.cellAt(s.offsetX,s.offsetY);if(this.point(r),e===null||Math.abs(s.offsetX-e)<6)return;let i=n(e),l=n(s.offsetX);i!==null&&l!==null&&this.place(
this.brushed,{line:0,lines:this.lines.length,step:Math.min(i.step,l.step),steps:Math.abs(i.step-l.step)+1})}),t.addEventListener("pointerup",s=>{let r=e===null?
null:n(e),i=n(s.offsetX);if(e!==null&&Math.abs(s.offsetX-e)>=6&&r!==null&&i!==null)this.events.brush(Math.min(r.step,i.step),Math.max(r.step,i.step));else{let l=this.
cellAt(s.offsetX,s.offsetY);l!==null&&this.pick(l)}e=null}),t.addEventListener("pointercancel",()=>{e=null,this.point(null),this.view(...this.shownSteps)}),t.addEventListener(
"pointerleave",()=>this.point(null)),t.addEventListener("blur",()=>this.point(null)),t.addEventListener("keydown",s=>{let r=this.at??{line:0,step:Math.max(this.
shownSteps[0],0)},i={ArrowLeft:{...r,step:Math.max(r.step-1,0)},ArrowRight:{...r,step:this.at===null?r.step:Math.min(r.step+1,this.steps-1)},ArrowUp:{...r,line:Math.
max(r.line-1,0)},ArrowDown:{...r,line:this.at===null?r.line:Math.min(r.line+1,this.lines.length-1)}};if(i[s.key]!==void 0)this.point(i[s.key]);else if(s.key==="\
Enter"&&this.at!==null)this.pick(this.at);else if(s.key==="Escape")t.blur();else return;s.preventDefault()})}};var Vn=18,Fe=class{constructor(t,e,n,s){this.run=t;this.capture=e;this.all=n;this.open().catch(r=>{if(!(r instanceof N)||r.status===0)throw r}).then(()=>s())}run;capture;all;canvas=o(
"canvas",{role:"img","aria-label":"Load: requests in progress, tokens per second, queue"});legend=o("div",{class:"legend"});el=o("div",{class:"tl-above tl-load",
hidden:!0},this.legend,this.canvas);lines=[];shift=0;rep=0;requests=null;async open(){let t=await M("load/steps",{run:this.run}),e=t.lanes.find(u=>u.capture===this.
capture&&u.from.length>0);if(e===void 0)return;[this.shift,this.rep]=[e.shift,t.rep];let n={run:this.run,rep:this.rep},s=Math.max(Math.floor(this.all.t0-this.shift),
0),r=Math.ceil(this.all.t1-this.shift);if(r<=s)return;let[i,l,h]=await Promise.all([M("load",n),M("load/timeline",{...n,from:s,to:r}),M("load/requests",{...n,from:s,
to:r})]);this.requests=h;let p=l.running.map((u,d)=>l.from_ns+d*l.bin_ns+this.shift);p.push((p[p.length-1]??this.shift)+l.bin_ns),this.lines=[{title:"requests i\
n progress",color:"strong",at:p,values:l.running,unit:""},{title:"tokens per second",color:"share",at:p,values:l.tokens.map(u=>u/l.bin_ns*1e9),unit:"/s"}];for(let[
u,d,m]of[["queued","in the server's queue",""],["usage","of the KV cache in use"," %"]]){let c=i.server.filter(g=>g[u]>=0);if(c.length===0)continue;let f=c.map(
g=>g.at+this.shift);this.lines.push({title:d,color:"medium",at:[...f,f[f.length-1]+1e9],values:c.map(g=>(m===""?1:100)*g[u]),unit:m})}}during(t){let e=this.requests;
if(e===null)return[];let n=t.t0-this.shift,s=t.t1-this.shift;return e.index.map((r,i)=>i).filter(r=>e.sent[r]<s&&Math.max(e.done[r],e.sent[r])>n).sort((r,i)=>e.
sent[r]-e.sent[i]).map(r=>e.index[r])}link(t,e,n){let s=Math.max(Math.round(e.t0-this.shift),0);return L(A(t,{tab:"bench",run:this.run,rep:this.rep,b0:s,b1:Math.
max(Math.round(e.t1-this.shift),s+1),req:n??null}))}paint(t,e,n,s){if(this.el.hidden=t===null||this.lines.length===0,this.el.hidden||t===null)return;let r=this.
lines.length*Vn,i=window.devicePixelRatio||1,l=this.canvas.getContext("2d",{alpha:!1});this.canvas.style.width=e+"px",this.canvas.style.height=r+"px",this.canvas.
width=Math.round(e*i),this.canvas.height=Math.round(r*i),l.setTransform(i,0,0,i,0,0),l.fillStyle=n.name("bg"),l.fillRect(0,0,e,r);let h=e/(t.t1-t.t0),p=this.during(
t).length,u=this.lines.map((d,m)=>{let c=Math.max(...d.values,0),f=(m+1)*Vn-1;return l.fillStyle=n.name(d.color),d.values.forEach((g,x)=>{let b=Math.max((d.at[x]-
t.t0)*h,0),w=Math.min((d.at[x+1]-t.t0)*h,e),k=g/Math.max(c,1e-9)*(Vn-3);w>b&&k>0&&l.fillRect(b,f-k,Math.max(w-b,.5),k)}),l.fillStyle=n.name("line"),l.fillRect(0,
f,e,1),o("div",null,`${d.title}, up to ${Number.isInteger(c)||c>=1e3?T(String(Math.round(c))):X(c)}${d.unit}`)});u[0].append(" · ",o("a",{href:this.link(s,t),title:"\
These requests in Benchmark, over the visible time"},String(p))),y(this.legend,...u)}};function $t(a){return a.last<0||a.last===a.rank?null:a.counterparts.find(t=>t.rank===a.last&&t.span>=0)??null}function Js(a){return a.launch??a.op??a.around[0]??
null}function Qs(a){return a.calls[0]??a.launched[0]??$t(a)}function Zs(a){let t=[],e=a.launch??a;return a.op!==null&&t.push([a.op,e]),a.launch!==null&&t.push([
a.launch,a]),a.launched.slice(0,30).forEach((n,s)=>{let r=a.calls[s];r!==void 0&&t.push([a,r]),t.push([r??a,n])}),t}function tr(a,t,e){let n=o("b",null,a.label),
s=[],r=a.launched[0];a.op!==null&&s.push(["op",t(a.op)]),a.launch!==null&&s.push(["launch",t(a.launch)]);let i=a.launch!==null?"GPU":a.op!==null||a.category==="\
cuda_runtime"||a.category==="cuda_driver"?"launch":"op";s.push([i,n]),a.calls[0]!==void 0&&s.push([a.calls.length>1?"first launch":"launch",t(a.calls[0])]),r!==
void 0&&s.push([a.launches>1?`GPU, first of ${a.launches}`:"GPU",t(r)]);let l=$t(a);return l!==null&&s.push(["waits for "+e(l.rank),t(l)]),s.length<2?null:o("p",
{class:"tl-way",title:"< goes back along this way, > forward"},...s.flatMap(([h,p],u)=>[u>0&&o("span",{class:"tl-soft","aria-hidden":"true"}," → "),o("span",{
class:"tl-soft"},h+" "),p]))}function Kn(a,t){let{head:e,state:n}=a,s=n.only.length>0&&!n.only.includes(t.rank)?[]:n.only,r=new Set(n.open),i=be(e,n.how,t.rank);i!==""&&r.add(i);let l=a.lay(
r,s),h=l.lanes.find(u=>u.lane===t.lane),p=h!==void 0?-1:e.rows.findIndex(u=>t.lane>=u.lane&&t.lane<u.lane+u.lanes);if(p<0)return{open:r,only:s,place:h,plan:l};for(let u of e.
rows[p].pinned?[String(p)]:["r"+t.rank,String(p)]){if(h!==void 0)break;r.add(u),l=a.lay(r,s),h=l.lanes.find(d=>d.lane===t.lane)}return{open:r,only:s,place:h,plan:l}}
function Yt(a,t){let e=a.scrollTop;return t===void 0||t.y>=e+4&&t.y+t.height<=e+a.clientHeight-4?e:Math.max(t.y-Math.max((a.clientHeight-t.height)/3,20),0)}function er(a){return a.flatMap(t=>{let e=new Set(t.ranks);return t.steps.map((n,s)=>({step:n,ranks:e,from:t.end_ns[s]-t.was[s],end:t.end_ns[s],would:t.end_ns[s]-
t.was[s]+t.would[s]}))}).sort((t,e)=>t.end-e.end)}function Be(a,{t0:t,t1:e}){return a.filter(n=>n.from<e&&Math.max(n.end,n.would)>t)}function nr(a){let t=new Map;
for(let e of a){let n=t.get(e.step);t.set(e.step,n===void 0?e:{...e,from:Math.min(e.from,n.from),end:Math.max(e.end,n.end),would:Math.max(e.would,n.would)})}return[
...t.values()].sort((e,n)=>e.end-n.end)}function Hi(a,t){let e=[];return a.forEach((n,s)=>{if(!t.has(n.rank))return;let r=e[e.length-1];r!==void 0&&s>0&&t.has(a[s-
1].rank)?r[1]=n.y+n.height:e.push([n.y,n.y+n.height])}),e}function sr(a,t,e,n){let s=[];for(let r of a)if(!(Math.abs(r.end-r.would)<e)){for(let[i,l]of Hi(t,r.ranks))
s.push({would:r.would,end:r.end,top:i,bottom:l});if(s.length>n)return[]}return s}function rr(a){let t=a.end-a.from,e=a.would-a.from;return{title:`step ${a.step}\
, with these changes`,rows:[["was",v(t)],["would be",v(e)],["change",Jt(t,e)]]}}function Jt(a,t){let e=t/Math.max(a,1)-1;return(e>0?"+":"")+_(e)}var De=["bg","attention","gemm","moe","norm","elementwise","communication","copy","sampling","other","t-step","t-range","t-op","t-call","t-launch","t-sync","t-p\
ython","t-profiler","t-nocore","t-other"],ar=4,or=3,Xn=([a,t,e])=>`rgb(${a},${t},${e})`;function Yn([a,t,e]){let n=s=>s<=10?s/255/12.92:((s/255+.055)/1.055)**2.4;
return .2126*n(a)+.7152*n(t)+.0722*n(e)}function Jn(a,t){let e=Yn(a),n=Yn(t);return(Math.max(e,n)+.05)/(Math.min(e,n)+.05)}function Ht(a){return Jn(a,[255,255,255])>=
Jn(a,[17,17,17])?"#ffffff":"#111111"}function ir(a){let t=Ht(a)==="#ffffff"?[0,0,0]:[255,255,255];for(let e=0;;e+=.04){let n=U([a,t],e);if(Jn(n,Ht(a)==="#ffffff"?
[255,255,255]:[17,17,17])>=4.5||e>=1)return n}}function Qn(){let a=at(),t=I(a("bg")),e=Yn(t)>.5,n=ir(I(a("wait"))),s={fill:[],text:[],strip:[],wait:n,waitFill:[
Xn(n),Xn(U([n,t],.3))],waitText:Ht(n),name:a};for(let r of De){let i=I(a(r)),l=[i,U([i,e?[255,255,255]:[0,0,0]],.16),U([i,e?[0,0,0]:[255,255,255]],.1),U([i,t],.78)].
map(ir);for(let h of l)s.fill.push(Xn(h)),s.text.push(Ht(h));s.strip.push(U([i,t],.18))}return s}var ut=18,Ot=18,lr=24,hr=16,Oi=4;function Ue(a,t){if(a.steps.length===0)return{lanes:[],left:0};if(a.replicas.length===0)return{lanes:[{name:"",steps:a.steps}],
left:0};let e=new Set(t),n=a.replicas.filter(s=>t.length===0||s.ranks.some(r=>e.has(r)));return{lanes:n.slice(0,hr),left:Math.max(n.length-hr,0)}}function Qt(a){
return a>Oi?10:18}function qi(a,t){let e=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]],[n,s]=e.find(([i])=>Math.abs(a)>=i&&t>=i/1e6)??e.find(([i])=>t>=i)??e[3],r=Math.
min(Math.max(-Math.floor(Math.log10(t/n)+1e-9),0),6);return(a/n).toFixed(r)+" "+s}function je(a,t){let e=0;for(;e<a.length&&(a[e].end_ns===0||a[e].end_ns<=t.t0);)
e++;let n=e;for(;n<a.length&&(a[n].end_ns===0||a[n].start_ns<t.t1);)n++;return[e,n]}var W=class a{constructor(t){this.canvas=t;this.ctx=t.getContext("2d",{alpha:!1})}canvas;ctx;static height(t,e){
return t.wall?a.below(t)+(e?lr:0):ut}static steps(t){return t.lanes.length*Qt(t.lanes.length)}static below(t){return ut+a.steps(t)+(t.otherwise?Ot:0)}paint(t,e){
let{ctx:n}=this,s=window.devicePixelRatio||1;if(this.canvas.width=Math.round(t.width*s),this.canvas.height=Math.round(e*s),n.setTransform(s,0,0,s,0,0),n.fillStyle=
t.palette.name("bg"),n.fillRect(0,0,t.width,e),n.font="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",n.textBaseline="middle",this.ticks(t),!t.wall)
return;let r=Qt(t.lanes.length);t.lanes.forEach((i,l)=>this.lane(t,i.steps,ut+l*r,r)),t.otherwise&&this.ghosts(t),e>a.below(t)&&this.ribbons(t)}x(t,e){return(e-
t.view.t0)/(t.view.t1-t.view.t0)*t.width}ticks(t){let{ctx:e}=this,{step:n,first:s}=Us(t.view,t.width,110);e.textAlign="left";for(let r=0;r<100;r++){let i=s+r*n,
l=Math.round(this.x(t,i));if(l>t.width)break;e.fillStyle=t.palette.name("line"),e.fillRect(l,4,1,ut-4),e.fillStyle=t.palette.name("soft");let h=qi(i,n);l+4+h.length*
6.5<t.width&&e.fillText(h,l+4,ut/2+1)}}lane(t,e,n,s){let{ctx:r}=this,[i,l]=je(e,t.view);r.textAlign="left";let h=Math.max(Math.ceil((l-i)/(t.width/2)),1);for(let p=i;p<
l;p+=h){let u=e[p];if(u.end_ns===0)continue;let d=e[p+1],m=d!==void 0&&d.end_ns!==0?Math.min(u.end_ns,d.start_ns):u.end_ns,c=Math.max(Math.round(this.x(t,u.start_ns)),
-2),f=Math.min(Math.round(this.x(t,m)),t.width+2),g=Math.max(f-c-(f-c>3?1:0),1),x=t.palette.name(u.slow?"high":Tt(u.kind));r.fillStyle=x,r.globalAlpha=p===t.picked?
1:.3,r.fillRect(c,n,g,s-2),r.globalAlpha=1,r.fillRect(c,n+s-4,g,2);let b=String(p),w=g>30+6.5*(u.kind.length+6)?`step ${b} · ${u.kind}${u.slow?" · slow":""}`:
b;g<w.length*6.5+6||s<18||(r.fillStyle=p===t.picked?Ht(Ni(x)):t.palette.name("text"),r.fillText(w,Math.max(c,0)+4,n+s/2-1))}}ghosts(t){let{ctx:e}=this,n=Be(t.ghosts,
t.view),s=ut+a.steps(t);e.textAlign="left";let r=Math.max(Math.ceil(n.length/(t.width/2)),1);for(let i=0;i<n.length;i+=r){let l=n[i],h=Math.max(Math.round(this.
x(t,l.from)),-2),p=Math.min(Math.round(this.x(t,l.would)),t.width+2),u=Math.min(Math.round(this.x(t,l.end)),t.width+2),d=Math.max(p-h-(p-h>3?1:0),1);e.fillStyle=
t.palette.name("share"),e.globalAlpha=.3,e.fillRect(h,s,d,Ot-2),e.globalAlpha=1,e.fillRect(h,s+Ot-4,d,2),e.fillRect(p-1,s,2,Ot-2),e.fillRect(Math.min(p,u),s+Ot/
2-1,Math.abs(u-p),1);let m=Jt(l.end-l.from,l.would-l.from);d<m.length*6.5+6||(e.fillStyle=t.palette.name("text"),e.fillText(m,Math.max(h,0)+4,s+Ot/2-1))}}static ghostAt(t,e,n){
if(!t.wall||!t.otherwise||n<ut+a.steps(t)||n>=a.below(t))return null;let s=t.view.t0+e/t.width*(t.view.t1-t.view.t0);return t.ghosts.find(r=>r.from<=s&&s<Math.max(
r.end,r.would))??null}ribbons(t){let{ctx:e}=this,n=a.below(t)+2,s=lr-6;for(let r of t.ribbons){let i=this.x(t,r.first_ns),l=this.x(t,r.last_ns),h=this.x(t,r.end_ns);
if(h<0||i>t.width||(e.fillStyle=t.palette.name("communication"),e.fillRect(l,n+s-4,Math.max(h-l,1),4),l-i<.75))continue;e.fillStyle=t.palette.name("wait");let p=r.
arrivals_ns.length;for(let u=0;u+1<p;u++){let d=this.x(t,r.arrivals_ns[u]),m=this.x(t,r.arrivals_ns[u+1]),c=(u+1)/p,f=Math.max(c*s,2);m>d&&e.fillRect(d,n+s-f,Math.
max(m-d,.5),f)}e.fillRect(Math.round(l)-1,n,1.5,s)}}static ribbonAt(t,e,n){if(!t.wall||n<a.below(t))return null;let s=t.view.t0+e/t.width*(t.view.t1-t.view.t0),
r=(t.view.t1-t.view.t0)/t.width*3,i=null;for(let l of t.ribbons)s>=l.first_ns-r&&s<=l.end_ns+r&&(i===null||l.wait_ns>i.wait_ns)&&(i=l);return i}static stepAt(t,e,n){
let s=t.wall?t.lanes[Math.floor((n-ut)/Qt(t.lanes.length))]:void 0;if(s===void 0)return null;let r=We(s.steps,t.view.t0+e/t.width*(t.view.t1-t.view.t0));return r<
0?null:{lane:s,step:r}}};function We(a,t){let e=-1;return a.forEach((n,s)=>{n.end_ns!==0&&n.start_ns<=t&&t<n.end_ns&&(e=s)}),e}function pr(a,t){return{title:a.op+
(a.step>=0?`, step ${a.step}`:""),rows:[["last to arrive",t],["first waits for it",v(a.last_ns-a.first_ns)],["waited, all ranks",v(a.wait_ns)],["then until all \
have left",v(a.end_ns-a.last_ns)],["ranks",String(a.ranks)]]}}function Ni(a){return[1,3,5].map(t=>parseInt(a.slice(t,t+2),16))}var zi=700,Ge=class{constructor(t){this.at=t}at;timer=0;zoomed=-1/0;look(t,e="replace",n={}){let{at:s}=this;if(t===null)return;let r=e==="push"||Object.keys(n).
length>0;r&&this.timer!==0&&this.keep(),s.state.view=t,s.unpoint(),s.draw("lanes","overlay"),r?s.store.set({...this.place(),...n},e):this.write()}place(){let{state:t,
body:e}=this.at;return{t0:Math.round(t.view.t0),t1:Math.round(t.view.t1),y:Math.round(e.scrollTop)||null}}write(){clearTimeout(this.timer),this.at.wait("address"),
this.timer=window.setTimeout(()=>this.keep(),250)}keep(){let{at:t}=this,{view:e}=t.state,n=wt(t.store.params,t.head).view;clearTimeout(this.timer),this.timer=0;
let s=Math.abs((e.t1-e.t0)/(n.t1-n.t0)-1)>.001,r=performance.now();t.store.set(this.place(),s&&r-this.zoomed>zi?"push":"replace"),s&&(this.zoomed=r),t.state.view=
e,t.done("address")}get pending(){return this.timer!==0}close(){clearTimeout(this.timer)}zoom(t,e){let{at:n}=this;this.look(Ds(n.state.view,n.time(e??(n.pointer.
x>=0?n.pointer.x:n.width/2)),t,n.all))}pan(t){this.look(Re(this.at.state.view,t,this.at.all))}whole(){this.look(Un(this.at.head))}steps(t,e,n,s={},r){this.look(
Dn(this.at.head,t,e,r),n,s)}go(t,e="push",n=!1){let{at:s}=this,{body:r}=s,{open:i,only:l,place:h,plan:p}=Kn(s,t),{start:u,end:d}=s.shown(t),m=Yt(r,h);s.stretchTo(
p.height),r.scrollTop=m,this.look(At(s.state.view,u,d-u,s.all,n),e,{rank:t.rank,sel:t.span,r0:null,r1:null,area:null,open:[...i].join(",")||null,only:G(l),y:Math.
round(m)||null})}frame(t){let{start:e,end:n}=this.at.shown(t);this.look(At(this.at.state.view,e,n-e,this.at.all))}reveal(t){let{at:e}=this,{open:n,only:s}=Kn(e,
t);(n.size!==e.state.open.size||s.length!==e.state.only.length)&&e.store.set({open:[...n].join(",")||null,only:s.join(",")||null}),e.body.scrollTop=Yt(e.body,e.
plan.lanes.find(r=>r.lane===t.lane))}compare(t,e){let{head:n,heat:s,body:r}=this.at,i=s.cells===null?-1:Ys(s.cells.values,n.ranks.length,n.steps.length,e),l=i<0||
i===t?[t]:[t,i];r.scrollTop=0,this.steps(e,e,"push",{only:l.join(","),align:"step",step:e,rank:t,sel:null,r0:null,r1:null,at:null,y:null})}choices(){let{head:t,
source:e}=this.at,n=s=>s==="collective"?!e.exported||t.collectives:s!=="stretched"||!e.exported;return Bn.filter(s=>s.by!=="stretched"&&s.by!=="collective"||t.stretch&&
n(s.by))}cycle(){let t=this.choices(),e=t.findIndex(n=>n.by===this.at.state.by);this.choose(t[(e+1)%t.length].by)}choose(t){let{state:e,head:n,selected:s,store:r}=this.
at,i=Math.round((e.view.t0+e.view.t1)/2),l=e.step>=0?e.step:Math.max(We(n.steps,i),0),h=s!==null&&s.last>=0?s.start_ns:i;this.look(e.view,"push",{align:t==="wal\
l"?null:t,step:t==="step"?l:r.params.step??null,at:t==="collective"?h:null})}nextStep(t){let{state:e,head:n}=this.at,s=e.step>=0?e.step:We(n.steps,(e.view.t0+e.
view.t1)/2),r=Math.min(Math.max(s+t,0),n.steps.length-1);this.steps(r,r,"replace",{step:r})}async nextFound(t){let{state:e,selected:n,source:s}=this.at;if(e.q===
"")return;let r=n!==null?n.start_ns:t?e.view.t1:e.view.t0,i=await s.search(e.q,this.at.rows(),r,t);i.next!==null&&this.go(i.next,"replace")}async beside(t){let{
selected:e,source:n}=this.at,s=e!==null?await n.beside(e,t):await this.first();s!==null&&this.go(s,"replace")}async alike(t){let{selected:e,source:n}=this.at,s=e===
null?null:await n.alike(e,t);s!==null&&this.go(s)}async first(){let{plan:t,body:e,state:n}=this.at;for(let s of Ct(t.lanes,e.scrollTop,e.scrollTop+e.clientHeight)){
if(s.rank<0)continue;let r=await this.hit(s,n.view.t0,n.view.t1);if(r!==null)return r}return null}hit(t,e,n){let s=this.at.alignment?.moved_ns[t.rank]??0;return this.
at.source.hit(t.lane,e-s,n-s,this.at.state.by==="stretched")}async lanesAway(t){let{selected:e,plan:n,body:s}=this.at;if(e===null)return void(s.scrollTop+=t*48);
for(let r=n.lanes.findIndex(i=>i.lane===e.lane)+t;r>=0&&r<n.lanes.length;r+=t){if(n.lanes[r].rank<0)continue;let{start:i,end:l}=this.at.shown(e),h=await this.hit(
n.lanes[r],i,l);if(h!==null)return this.go(h,"replace")}}counterpart(t){let e=this.at.selected;if(e===null)return;let n=e.counterparts.filter(i=>i.span>=0),s=n.
filter(i=>t>0?i.rank>e.rank:i.rank<e.rank),r=t>0?s[0]??n[0]:s[s.length-1]??n[n.length-1];r!==void 0&&this.go(r,"replace")}moment(t,e){let{all:n}=this.at,s=(n.t1-
n.t0)/40;this.look(pt({t0:t-s,t1:t+s},n),"push",e>=0?{rank:e,sel:null}:{})}along(t){let e=this.at.selected===null?null:t(this.at.selected);e!==null&&this.go(e)}turn(t){
this.at.store.set({open:[...Ks(this.at.state.open,t)].join(",")||null})}bind(){let{at:t}=this,{store:e,head:n}=t,s=(r,i,l)=>t.context.keys.bind(r,"Timeline",i,l);
s("w +","zoom in",()=>this.zoom(.75)),s("s -","zoom out",()=>this.zoom(1/.75)),s("a ArrowLeft","to the left",()=>this.pan(-.1)),s("d ArrowRight","to the right",
()=>this.pan(.1)),s("0 Home","the whole capture",()=>this.whole()),s("f","fit the selection to the view",()=>{let{selected:r,state:i}=t;r!==null?this.go(r,"push",
!0):i.range!==null&&this.look(At(i.view,i.range.t0,i.range.t1-i.range.t0,t.all,!0),"push")}),s("m","sum up the work during the selected span",()=>{if(t.selected===
null)return;let{start:r,end:i}=t.shown(t.selected);e.set({r0:Math.round(r),r1:Math.round(Math.max(i,r+1)),area:null,sel:null},"push")}),s("[","the previous step",
()=>this.nextStep(-1)),s("]","the next step",()=>this.nextStep(1)),s(".","select the next span of the lane",()=>{this.beside(!1)}),s(",","and the previous one",
()=>{this.beside(!0)}),t.source.exported||(s("x","the next span of the same name on the rank",()=>{this.alike("next")}),s("X","and the previous one",()=>{this.alike(
"previous")}),s("L","the longest span of the same name on the rank",()=>{this.alike("longest")})),s("y","copy the details as text",()=>t.panel.copy()),s("|","mo\
ve the details beside or below the rows",()=>t.panel.dock.move()),s("ArrowDown","select in the lane below",()=>{this.lanesAway(1)}),s("ArrowUp","and in the lane\
 above",()=>{this.lanesAway(-1)}),s("c","to the counterpart on the next rank",()=>this.counterpart(1)),s("C","and on the previous rank",()=>this.counterpart(-1)),
s("<","back along the arrows: from the GPU to its launch and op",()=>this.along(Js)),s(">","and forward: to the GPU, and to the rank that came last",()=>this.along(
Qs)),s("A","next way to align ranks",()=>this.cycle()),s("h","show or hide the map of ranks and steps",()=>e.set({heat:t.state.heat==="off"?n.measure:"off"})),s(
"K","show or hide the counters",()=>e.set({counters:t.state.counters?"off":null})),s("H","next measure of the map",()=>{let r=n.measures.findIndex(i=>i.id===t.state.
heat);e.set({heat:n.measures[(r+1)%n.measures.length].id})}),s("g","choose a what-if change",()=>t.el.querySelector(".tl-whatif")?.focus()),s("u","unfold or fol\
d all rows of the rank",()=>this.turn("r"+Math.max(t.state.rank,0))),s("r","all ranks again",()=>e.set({only:null})),s("/","search names",()=>t.search.focus()),
s("n","the next search result",()=>{this.nextFound(!1)}),s("N","and the previous one",()=>{this.nextFound(!0)}),s("Escape","clear the selection, then the search",
()=>{t.state.sel>=0||t.state.range!==null?t.clear():e.set({q:null})})}};var Ve=class{constructor(t,e,n){this.c=t;this.known=e;this.arrived=n}c;known;arrived;all=[];over=[];answer=null;asked;lacks="";show(t){if(t===this.asked)return;
this.asked=t,this.answer=null,this.lacks="",this.all=this.over=[];let e=Gt(lt(t));if(e.length===0)return this.arrived();M("whatif",{c:this.c,set:e}).then(n=>{this.
asked===t&&(this.answer=n,this.all=n.known?er(n.lengths):[],this.over=nr(this.all),this.arrived())}).catch(n=>{if(!(n instanceof N)||n.status===0)throw n;this.asked===
t&&(this.lacks=n.message,this.arrived())})}words(){return[...lt(this.asked)].map(([t,e])=>`${t} ${ht(e)}`).join(", ")}outcome(){let t=this.answer,e=t?.rows[0];return t===
null?this.lacks:t.known?e===void 0?"":`${e.kind} ${v(e.step_ns)} → ${v(e.without_ns)} (${Jt(e.step_ns,e.without_ns)})`:"unknown: "+t.why}picker(t,e,n,s){let r=(u,d,m)=>{
let c=tt(Vt(new Map,V(u,d),m));return i.some(f=>et(f)===c)||this.known!==null&&!this.known.includes(`${V(u,d)}=${m}`)?!1:o("option",{value:c},`${V(u,d)} ${ht(m)}`)},
i=n.filter(u=>this.known===null||u.set.length===1&&this.known.includes(u.set[0])),l=e>=0&&t.length>1?t[e]:"",h=o("select",{"aria-label":"What if",class:"tl-what\
if",title:"Where each step would end if … (key: g)",on:{change:()=>s(h.value||null)}},o("option",{value:""},"what if …"),...i.map(u=>o("option",{value:et(u),
title:u.finding},xe(u)+" (finding)")),...["host","device","collective","gap"].map(u=>r("",u,"0")),...l===""?[]:["work","host","device"].map(u=>r(l,u,"peers"))),
p=tt(lt(this.asked))??"";return[...h.options].some(u=>u.value===p)||h.append(o("option",{value:p},this.words())),h.value=p,h}};function ur(a){let t=[],e=s=>(s.textContent??"").replace(/\s+/g," ").trim(),n=s=>{if(!(s instanceof HTMLElement&&(s.dataset.tool!==void 0||s.hidden)))if(s instanceof
HTMLDListElement)for(let r of s.querySelectorAll("dt")){let i=r.nextElementSibling;i!==null&&i.querySelector("[data-tool]")===null&&t.push(`${e(r)}: ${e(i)}`)}else if(s instanceof
HTMLTableRowElement)t.push([...s.cells].filter(r=>r.dataset.tool===void 0).map(r=>r.dataset.text??e(r)).join("	"));else if(/^(H\d|P|LI)$/.test(s.tagName))t.push(
e(s));else if(s.childElementCount===0)e(s)!==""&&t.push(e(s));else for(let r of s.children)n(r)};return n(a),t.join(`
`)+`
`}async function dr(a){try{await navigator.clipboard.writeText(a)}catch{let t=document.body.appendChild(document.createElement("textarea")),e=document.activeElement;
t.value=a,t.select(),document.execCommand("copy"),t.remove(),e instanceof HTMLElement&&e.focus()}}var Ke={below:110,side:260},Xe=class{constructor(t,e,n){this.root=t;this.panel=e;this.set=n;let{handle:s}=this;s.addEventListener("pointerdown",r=>{s.setPointerCapture(
r.pointerId),r.preventDefault()}),s.addEventListener("pointermove",r=>{if(!s.hasPointerCapture(r.pointerId))return;let i=this.panel.getBoundingClientRect();this.
resize(this.side?i.right-r.clientX:i.bottom-r.clientY)}),s.addEventListener("pointerup",()=>this.keep()),s.addEventListener("keydown",r=>{let i={ArrowUp:24,ArrowLeft:24,
ArrowDown:-24,ArrowRight:-24,Home:-1e6,End:1e6}[r.key];i!==void 0&&(r.preventDefault(),this.resize(this.now()+i),this.keep())})}root;panel;set;side=!1;size=0;handle=o(
"div",{class:"tl-size",role:"separator",tabindex:"0","aria-label":"Size of the details",title:"Drag, or use the arrow keys",data:{tool:""}});show(t){let e=/^(side)?(\d{1,4})?$/.
exec(t??""),n=this.side;return this.side=e?.[1]!==void 0,this.size=Number(e?.[2]??0),this.apply(),this.side!==n}move(){this.set(this.side?null:"side")}now(){let t=this.
panel.getBoundingClientRect();return this.side?t.width:t.height}resize(t){let e=this.side?this.root.clientWidth*.6:this.root.clientHeight*.7,n=this.side?Ke.side:
Ke.below;this.size=Math.round(Math.max(Math.min(t,e),n)),this.apply()}keep(){this.set((this.side?"side":"")+(this.size||""))}apply(){this.root.classList.toggle(
"side",this.side),this.size===0?this.root.style.removeProperty("--dock"):this.root.style.setProperty("--dock",this.size+"px"),this.handle.setAttribute("aria-ori\
entation",this.side?"vertical":"horizontal"),this.measure()}measure(){let t=this.side?this.root.clientWidth*.6:this.root.clientHeight*.7,e=this.now();this.handle.
ariaValueMin=String(this.side?Ke.side:Ke.below),this.handle.ariaValueMax=String(Math.round(Math.max(t,e))),this.handle.ariaValueNow=String(Math.round(e))}};var Zn=256,Ii=[{name:"compute",title:"compute",of:a=>a.compute_ns},{name:"transfer",title:"transfer",of:a=>a.transfer_ns},{name:"wait",title:"wait",of:a=>a.wait_ns},
{name:"copy",title:"copy",of:a=>a.copy_ns},{name:"unknown",title:"idle",of:a=>a.idle_ns}];function cr(a,t,e,n,s,r){let i=new Map(t.ranks.map(m=>[m.rank,m])),l=Ii.
filter(m=>m.name!=="copy"||t.ranks.some(c=>c.copy_ns>0)),h=m=>i.has(m)?t.ranks.map(c=>c.rank).filter(c=>c!==m):[...i.keys(),m],p=m=>o("td",{data:{tool:""}},o("i\
nput",{type:"checkbox",checked:i.has(m),"aria-label":`Sum up ${a.ranks[m]}`,data:{tool:"rank"+m},on:{change:()=>r(h(m))}})),u=m=>{let c=i.get(m),f=r!==null&&e.length>
1&&p(m),g=o("th",{scope:"row"},a.ranks[m]);if(c===void 0)return o("tr",{class:"tl-none"},f,g,o("td",{colspan:String(l.length+2)}));let x=l.map(b=>({name:b.name,
label:c.device?b.title:b.title==="compute"?"busy":b.title,ns:b.of(c)}));return o("tr",{data:{rank:String(m)}},f,g,o("td",{data:{tool:""}},gt(x,1,b=>`${b.label} ${_(
b.ns/Math.max(t.to_ns-t.from_ns,1))}`)),...l.map(b=>o("td",{class:"r"},c.device||b.name==="compute"||b.name==="unknown"?v(b.of(c)):"")),o("td",{title:c.longest?.
label},c.longest===null?"":s(c.longest,v(c.longest.dur_ns)+" "+c.longest.label)))},d=t.ranks.every(m=>m.device);return o("div",{class:"tl-counterparts tl-ranksu\
ms"},o("h3",null,"By rank",n&&r!==null&&o("button",{class:"tl-link",data:{tool:""},on:{click:()=>r(null)}},"all visible rows")),o("table",null,o("thead",null,o(
"tr",null,r!==null&&e.length>1&&o("td",{data:{tool:""}}),o("th",{scope:"col"},"rank"),o("td",{data:{tool:""}}),...l.map(m=>o("th",{scope:"col",class:"r"},m.title===
"compute"&&!d?"busy":m.title)),o("th",{scope:"col"},"longest span"))),o("tbody",null,...e.slice(0,Zn).map(u))),e.length>Zn&&o("p",{class:"tl-soft"},`${e.length-
Zn} more ranks are left out: show fewer, or drag over their rows.`))}function dt(a){return 2**Math.max(0,a-22)}var Ye=new Uint32Array(0),mr=new Uint8Array(0);function fr(a,t){let e=new DataView(a);if(a.byteLength<32||e.getUint32(
0,!1)!==1397969996||e.getUint16(4,!0)!==1)throw new Error("these are not tiles of this version");if(e.getUint32(8,!0)!==t)throw new Error("the server shows anot\
her capture now: reload the page");let n=e.getUint32(12,!0),s=[];for(let r=0;r<n;r++){let i=32+16*r,l=e.getUint32(i+8,!0),h=e.getUint32(i+12,!0),p=h&2147483647,
u=l===0?16:16+3*512+(18*p+7&-8),d={lane:e.getUint32(i,!0),index:e.getInt32(i+4,!0),bytes:u,whole:h>>>31===1,strip:null,pieces:p,start:Ye,width:Ye,span:Ye,name:Ye,
class:mr,flags:mr};if(l!==0){let m=a.slice(l,l+u-16);d.strip={class:new Uint8Array(m,0,512),covered:new Uint8Array(m,512,512),waited:new Uint8Array(m,2*512,512)};
let c=f=>new Uint32Array(m,3*512+4*p*f,p);d.start=c(0),d.width=c(1),d.span=c(2),d.name=c(3),d.class=new Uint8Array(m,3*512+16*p,p),d.flags=new Uint8Array(m,3*512+
17*p,p)}s.push(d)}return s}var gr=7;function br(a,t,e,n,s){let r=512*2**e,i=dt(e),l=null;for(let h=Math.floor((n-s)/r);h<=Math.floor((n+s)/r);h++){let p=a(t,h);if(p!==void 0)for(let u=0;u<
p.pieces;u++){let d=h*r+p.start[u]*i,m=p.flags[u];(m&1)===0&&(l=Zt(l,d,n,s)),(m&2)===0&&(l=Zt(l,d+p.width[u]*i,n,s))}}return l}function Zt(a,t,e,n){return Math.
abs(t-e)<=n&&(a===null||Math.abs(t-e)<Math.abs(a-e))?t:a}function ee(a){let[t,e]=(Math.abs(a)/1e6).toFixed(3).split(".");return`${a<0?"-":""}${t.replace(/\B(?=(\d{3})+$)/g,
",")}.${e} ms`}var Fi={outside:"the span belongs to no step, so its counterpart is unknown",no_step:"this rank's file lacks the step",none_such:"this rank ran no such work the\
re",too_many:"the kernels differ over too long a stretch to be matched",apart:"this rank shares no collectives with the other, so its steps differ"};function Qe(a){
let t=o("i",{class:"tl-swatch"});return t.style.background=`var(--${De[a]??"other"})`,t}var Ze=class{constructor(t,e,n,s){this.head=t;this.events=e;this.exported=
s;this.dock=new Xe(n,this.el,r=>e.dock(r))}head;events;exported;el=o("section",{class:"tl-panel","aria-label":"Details",tabindex:"0",hidden:!0});all=o("div",{class:"\
tl-args"});reading=null;dock;args(t,e){this.reading?.abort();let{signal:n}=this.reading=new AbortController,s=i=>o("p",{class:"tl-soft"},i),r=[...this.all.children];
this.all.append(e.exported?s("An exported page has these args alone."):s("reading the file for all args …")),!e.exported&&e.args(t,n).then(i=>{let l=t.args.filter(
h=>h.name==="requests"||h.name==="thread");i.length>0?y(this.all,o("h3",null,`All ${i.length} args in the file`),es([...l,...i].map(h=>[h.name,h.value]))):y(this.
all,...r,s("The file gives no other args."))}).catch(i=>{if(!n.aborted){if(!(i instanceof N)||i.status===0)throw i;y(this.all,...r,s(`These are the args that we\
re kept: ${i.message}.`))}})}hide(){this.reading?.abort(),this.el.hidden=!0,y(this.el)}open(t,...e){this.el.hidden=!1;let n=document.activeElement,s=n!==null&&this.
el.contains(n)?n.dataset.tool:void 0,r=(i,l,h,p)=>o("button",{class:"quiet",title:`${l} (key: ${h})`,"aria-label":l,data:{tool:h},on:{click:p}},i);y(this.el,this.
dock.handle,o("div",{class:"tl-panel-head"},...t,o("span",{class:"space"}),r("copy","Copy the details as text","y",()=>this.copy()),r(this.dock.side?"below":"be\
side",this.dock.side?"Move the details below the rows":"Move the details beside the rows","|",()=>this.dock.move()),o("button",{class:"quiet",data:{tool:""},title:"\
Close (key: Escape)","aria-label":"Close the details",on:{click:()=>this.events.close()}},"✕")),o("div",{class:"tl-panel-body"},...e)),this.dock.measure(),s&&
this.el.querySelector(`[data-tool="${s}"]`)?.focus()}copy(){this.el.hidden||dr(ur(this.el)).then(()=>{let t=this.el.querySelector("[data-tool=y]");t!==null&&(t.
textContent="copied")})}alike(){let t=(e,n)=>o("button",{class:"tl-link",title:`key: ${n}`,on:{click:()=>this.events.alike(e)}},e);return o("span",{data:{tool:""}},
t("previous","X")," · ",t("next","x")," · ",t("longest","L"))}link(t,e=t.label){return o("button",{class:"tl-link",title:t.label,on:{click:()=>this.events.go(
t)}},e)}span(t){let e=[["rank",this.head.ranks[t.rank]],["start",Je(t.start_ns)],["end",Je(t.start_ns+t.dur_ns)],["duration",v(t.dur_ns)]];this.exported||e.push(
["same name here",this.alike()]),t.wait_ns>0&&e.push(["waits for others",v(t.wait_ns)]);let n=$t(t);t.last>=0&&e.push(["last to arrive",n!==null?this.link(n,this.
head.ranks[t.last]):this.head.ranks[t.last]+(t.last===t.rank?", this one":"")]),t.step>=0&&e.push(["step",`${t.step}${t.step_name?", "+t.step_name:""}`]),t.layer!==
""&&e.push(["layer",t.layer]),t.launch!==null&&e.push(["launched by",this.link(t.launch)],["launch delay",v(t.delay_ns)]),t.launches>0&&e.push(["launched",`${T(
String(t.launches))} on the GPU`]),t.launches>0&&/^cuda_/.test(t.category)&&e.push(["launch delay",v(t.delay_ns)]),y(this.all,t.args.length>0&&es(t.args.map(r=>[
r.name,r.value])));let s=t.name!==t.label&&o("p",{class:"tl-full"},t.name);this.open([Qe(t.class),o("h2",{title:t.name},t.label),o("span",{class:"tl-soft"},t.category)],
tr(t,(r,i)=>this.link(r,i),r=>this.head.ranks[r]),o("div",{class:"tl-facts"},s,es(e),this.all),t.counterparts.length>0&&this.counterparts(t),(t.around.length>0||
t.launched.length>0)&&o("div",{class:"tl-around"},t.launched.length>0&&o("h3",null,/^cuda_/.test(t.category)?"Launched by it":"Launched inside it"),t.launched.length>
0&&o("ol",null,...t.launched.map(r=>o("li",{title:r.label},this.link(r),o("span",{class:"tl-soft"}," "+v(r.dur_ns)))),t.launches>t.launched.length&&o("li",{class:"\
tl-soft"},`and ${t.launches-t.launched.length} more`)),t.around.length>0&&o("h3",null,t.launch?"Launched inside":"Inside"),t.around.length>0&&o("ol",null,...t.around.
map(r=>o("li",{title:r.label},this.link(r),o("span",{class:"tl-soft"}," "+v(r.dur_ns)))))))}counterparts(t){let e=Math.max(t.dur_ns,...t.counterparts.map(d=>d.why===
""?d.dur_ns:0),1),n=d=>{let m=o("span",{class:"tl-bar"});return m.style.width=d/e*90+"px",m.style.background=`var(--${De[t.class]??"other"})`,m},s=t.counterparts.
some(d=>d.delays),r=t.counterparts.some(d=>d.grid!==""),i=t.args.find(d=>d.name==="grid")?.value??"",l=d=>d.why!==""?o("tr",{class:"tl-none"},o("th",{scope:"row"},
this.head.ranks[d.rank]),o("td",{colspan:String(3+Number(r)+Number(s))},"none: "+(Fi[d.why]??d.why))):o("tr",{data:{rank:String(d.rank),span:String(d.span)}},o(
"th",{scope:"row"},this.link(d,this.head.ranks[d.rank])),o("td",null,n(d.dur_ns)," "+v(d.dur_ns)),o("td",{class:"r"},z(d.longer_ns)),o("td",{class:"r"},z(d.later_ns)),
r&&o("td",{class:d.grid!==i?"tl-differs":""},d.grid+(d.other?" · another kernel: "+d.label:"")),s&&o("td",{class:"r"},d.delays?z(d.delayed_ns):"")),h=o("tr",{class:"\
selected"},o("th",{scope:"row"},this.head.ranks[t.rank]),o("td",null,n(t.dur_ns)," "+v(t.dur_ns)),o("td",null),o("td",null),r&&o("td",null,i),s&&o("td",null)),u=[
...t.counterparts.map(d=>[d.rank,l(d)]),[t.rank,h]].sort((d,m)=>d[0]-m[0]).map(([,d])=>d);return o("div",{class:"tl-counterparts"},o("h3",null,"The same on ever\
y rank"),o("table",null,o("thead",null,o("tr",null,o("th",{scope:"col"},"rank"),o("th",{scope:"col"},"duration"),o("th",{scope:"col",class:"r"},"longer by"),o("\
th",{scope:"col",class:"r"},"starts later by"),r&&o("th",{scope:"col"},"grid"),s&&o("th",{scope:"col",class:"r"},"launch delay"))),o("tbody",null,...u)))}note(t){
this.open([o("h2",null,t)])}range(t,e,n,s,r){let i=e.length,l=[{id:"name",title:"name",key:d=>d.name,text:d=>[Qe(d.class),this.link(d.longest,d.name)],right:!1},
{id:"count",title:"count",key:d=>d.count,text:d=>T(String(d.count)),right:!0},{id:"self",title:"self time",key:d=>d.self_ns,text:d=>v(d.self_ns),right:!0},{id:"\
total",title:"total",key:d=>d.total_ns,text:d=>v(d.total_ns),right:!0},{id:"wait",title:"waiting",key:d=>d.wait_ns,text:d=>d.wait_ns>0?v(d.wait_ns):"",right:!0},
{id:"max",title:"longest",key:d=>d.max_ns,text:d=>v(d.max_ns),right:!0},{id:"spread",title:"lowest to highest rank",key:d=>d.most_ns-d.least_ns,text:d=>i>1&&d.most>=
0?`${v(d.least_ns)} (${this.head.ranks[d.least]}) – ${v(d.most_ns)} (${this.head.ranks[d.most]})`:"",right:!0}],h=s.startsWith("-"),p=l.find(d=>d.id===s.replace(
/^-/,""))??l[2],u=t.sums.slice().sort((d,m)=>{let c=p.key(d),f=p.key(m),g=typeof c=="string"?c.localeCompare(String(f),"en"):c-Number(f);return h?-g:g});this.open(
[o("h2",null,v(t.to_ns-t.from_ns)),o("span",{class:"tl-soft"},`from ${Je(t.from_ns)} to ${Je(t.to_ns)}: contents of ${n?"chosen":"the visible"} rows`)],cr(this.
head,t,e,n,(d,m)=>this.link(d,m),this.exported?null:d=>this.events.ranks(d)),o("div",{class:"table tl-range"},u.length===0?o("p",{class:"tl-soft"},"Nothing begi\
ns, runs or ends here on the visible rows."):o("table",null,o("thead",null,o("tr",null,...l.map(d=>o("th",{scope:"col",class:d.right?"r":"","aria-sort":d===p?h?
"descending":"ascending":null},o("button",{on:{click:()=>this.events.sort(d===p&&h?d.id:"-"+d.id)}},d.title,d===p&&o("span",{"aria-hidden":"true"},h?" ▾":" ▴")))))),
o("tbody",null,...u.map(d=>o("tr",null,...l.map(m=>{let c=m.text(d),f=o("td",{class:m.right?"r":"name",title:m.right?null:d.name});return Array.isArray(c)?f.append(
...c):y(f,c),f}))))),t.all>u.length&&o("p",{class:"tl-soft"},`${T(String(t.all-u.length))} more names, each with less self time, are left out.`)),r)}found(t,e){
let n=`${T(String(t.all))} name${t.all===1?"":"s"}`;if(t.spans===0&&t.all>0)return this.note(`${n} contain${t.all===1?"s":""} “${e}”: the drawn spans are mark\
ed`);this.open([o("h2",null,t.all===0?`No name contains “${e}”`:`${T(String(t.spans))} spans of ${n}, ${v(t.total_ns)}`),o("span",{class:"tl-soft"},t.all===
0?"on the visible rows":"n and N go to the next and the previous one")],t.names.length>0&&o("div",{class:"table tl-range"},o("table",null,o("thead",null,o("tr",
null,o("th",{scope:"col"},"name"),o("th",{scope:"col",class:"r"},"spans"),o("th",{scope:"col",class:"r"},"total"))),o("tbody",null,...t.names.map(s=>o("tr",null,
o("td",{class:"name",title:s.name},this.link(s.first,s.name)),o("td",{class:"r"},T(String(s.count))),o("td",{class:"r"},v(s.total_ns))))))))}};function Je(a){return`${ee(
a)} (${T(String(a))} ns)`}function es(a){return o("dl",null,...a.flatMap(([t,e])=>[o("dt",null,t),o("dd",null,e)]))}var Bi=16,qt=40,tn=class{constructor(t,e,n){this.canvas=t;this.tiles=e;this.ctx=t.getContext("2d",{alpha:!1});let s=He(n).map(i=>i.map(l=>n.rows[l])).map(i=>i.find(
l=>l.role==="compute")??i[0]),r=Math.max(Math.ceil(s.length/Bi),1);s.forEach((i,l)=>{i!==void 0&&l%r===0&&this.lanes.push(i.lane)})}canvas;tiles;ctx;ground=document.
createElement("canvas");drawn="";lanes=[];needs(t,e){let n=vt(t,e),[s,r]=Te(t,n);return{level:n,needs:this.lanes.map(i=>({lane:i,from:s,to:r}))}}paint(t,e,n,s){
let{ctx:r,canvas:i}=this,l=window.devicePixelRatio||1,{level:h,needs:p}=this.needs(t,n),u=this.tiles.of(h,!1),m=`${p.flatMap(g=>Array.from({length:g.to-g.from+1},
(x,b)=>u(g.lane,g.from+b))).filter(g=>g!==void 0).length} ${n} ${l} ${s.name("bg")} ${t.t0}`;m!==this.drawn&&(this.drawn=m,i.width=this.ground.width=Math.round(
n*l),i.height=this.ground.height=Math.round(qt*l),this.strips(t,s,h,p,u)),r.setTransform(1,0,0,1,0,0),r.drawImage(this.ground,0,0),r.setTransform(l,0,0,l,0,0);let c=(e.
t0-t.t0)/(t.t1-t.t0)*n,f=(e.t1-t.t0)/(t.t1-t.t0)*n;r.fillStyle=s.name("bg"),r.globalAlpha=.6,r.fillRect(0,0,Math.max(c,0),qt),r.fillRect(Math.min(f,n),0,n,qt),r.
globalAlpha=1,r.strokeStyle=s.name("strong"),r.lineWidth=1.5,r.strokeRect(Math.max(c,0)+.75,.75,Math.max(Math.min(f,n)-Math.max(c,0)-1.5,2),qt-1.5)}strips(t,e,n,s,r){
let i=this.ground.getContext("2d",{alpha:!1}),l=this.ground.width,h=this.ground.height,p=i.createImageData(l,h),u=new Uint32Array(p.data.buffer),d=Uint8Array.from(
[1,3,5].map(g=>parseInt(e.name("panel").slice(g,g+2),16))),m=h/Math.max(s.length,1),c=(t.t1-t.t0)/l,f=2**n;for(let g=0;g<s.length;g++){for(let x=0;x<l;x++){let b=Math.
floor((t.t0+(x+.5)*c)/f),w=Math.floor(b/512),k=r(s[g].lane,w)?.strip??null,R=b-w*512,[S,$,H]=d;if(k!==null&&k.class[R]!==0){let F=(30+k.covered[R]*.8823529411764706)/
255,it=Math.min(k.waited[R]/Math.max(k.covered[R],1),1),[kt,Ls,As]=e.strip[k.class[R]],[vi,wi,xi]=e.wait;S+=(kt+(vi-kt)*it-S)*F,$+=(Ls+(wi-Ls)*it-$)*F,H+=(As+(xi-
As)*it-H)*F}let q=255<<24|Math.round(H)<<16|Math.round($)<<8|Math.round(S),B=Math.round(g*m),j=Math.max(Math.round((g+1)*m)-(m>=4?1:0),B+1);for(let F=B;F<j;F++)
u[F*l+x]=q}if(m>=4){let x=Math.min(Math.round((g+1)*m)-1,h-1),b=255<<24|d[2]<<16|d[1]<<8|d[0];for(let w=0;w<l;w++)u[x*l+w]=b}}i.putImageData(p,0,0)}};var en=class{constructor(t){this.canvas=t;this.ctx=t.getContext("2d")}canvas;ctx;paint(t,e){let{ctx:n}=this,s=window.devicePixelRatio||1,r=Math.round(t.width*s),
i=Math.round(t.height*s);this.canvas.width!==r||this.canvas.height!==i?(this.canvas.width=r,this.canvas.height=i):(n.setTransform(1,0,0,1,0,0),n.clearRect(0,0,r,
i)),n.setTransform(s,0,0,s,0,0);let l=t.palette.name("mark"),h=t.palette.name("strong");if(t.range!==null&&this.shade(t,t.range,h),t.collective!==null&&this.collective(
t,t.collective),this.flows(t,l),this.counterparts(t,h),t.selected!==null&&this.outline(t,t.selected,l,2),e.box!==null){let{x0:p,x1:u,lane:d}=e.box;n.strokeStyle=
l,n.lineWidth=1;let m=Math.max(Math.round(p),-2)+.5,c=Math.min(Math.round(u),t.width+2)-.5;n.strokeRect(m,d.y-t.top+.5,Math.max(c-m,1),d.height-1)}e.x>=0&&(n.fillStyle=
l,n.globalAlpha=.35,n.fillRect(Math.round(e.x),0,1,t.height),n.globalAlpha=1)}x(t,e){return(e-t.view.t0)/(t.view.t1-t.view.t0)*t.width}shade(t,e,n){let{ctx:s}=this,
r=Math.max(this.x(t,e.t0),-1),i=Math.min(this.x(t,e.t1),t.width+1);if(!(i<=0||r>=t.width)){if(s.fillStyle=n,s.globalAlpha=.12,t.rows===null)s.fillRect(r,0,i-r,t.
height);else for(let l of t.lanes.values())t.rows.has(l.row)&&s.fillRect(r,l.y-t.top,i-r,l.height+1);s.globalAlpha=.9,s.fillRect(Math.round(r),0,1,t.height),s.fillRect(
Math.round(i)-1,0,1,t.height),s.globalAlpha=1}}box(t,e){let n=t.lanes.get(e.lane);if(n===void 0||e.span<0)return null;let{start:s,end:r}=t.place(e);return{x0:this.
x(t,s),x1:this.x(t,r),y:n.y-t.top,h:n.height}}outline(t,e,n,s){let r=this.box(t,e);if(r===null||r.x1<-4||r.x0>t.width+4)return;let{ctx:i}=this,l=Math.max(r.x0,-4),
h=Math.min(Math.max(r.x1,r.x0+2),t.width+4);i.strokeStyle=n,i.lineWidth=s,i.strokeRect(l-s/2,r.y-s/2,h-l+s,r.h+s)}counterparts(t,e){if(t.selected===null||t.counterparts.
length===0)return;let{ctx:n}=this,s=[];for(let r of[...t.counterparts,t.selected].sort((i,l)=>(t.lanes.get(i.lane)?.y??0)-(t.lanes.get(l.lane)?.y??0))){let i=this.
box(t,r);i!==null&&s.push({x:i.x0,y:i.y,h:i.h})}n.strokeStyle=e,n.lineWidth=1.5,n.setLineDash([4,3]),n.beginPath(),s.forEach((r,i)=>{i===0||n.lineTo(r.x,r.y),n.
moveTo(r.x,r.y+r.h)}),n.stroke(),n.setLineDash([]);for(let r of t.counterparts)this.outline(t,r,e,1.5)}flows(t,e){for(let[r,i]of t.flows){let l=this.box(t,r),h=this.
box(t,i);l===null||h===null||(h.x0>=l.x0&&h.x1<=l.x1&&l.y!==h.y?this.arrow(h.x0,l.y+l.h,h.x0,h.y,e):this.arrow(l.x1,l.y+l.h/2,h.x0,h.y+h.h/2,e))}if(t.awaited===
null||t.selected===null)return;let n=this.box(t,t.awaited),s=t.palette.name("wait");if(n!==null)for(let r of[...t.counterparts,t.selected]){let i=r.rank===t.awaited.
rank?null:this.box(t,r);i!==null&&this.arrow(n.x0,i.y<n.y?n.y:n.y+n.h,n.x0,i.y<n.y?i.y+i.h:i.y,s)}}arrow(t,e,n,s,r){let{ctx:i}=this,l=t===n,h=s>e?-6:6,p=Math.max(
Math.min(Math.abs(n-t)/2,60),12);i.strokeStyle=i.fillStyle=r,i.lineWidth=1.25,i.globalAlpha=.8,i.beginPath(),i.moveTo(t,e),l?i.lineTo(n,s):i.bezierCurveTo(t+p,e,
n-p,s,n,s),i.stroke(),i.beginPath(),i.moveTo(n,s),i.lineTo(n-(l?3.5:6),s+(l?h:-3.5)),i.lineTo(n+(l?3.5:-6),s+(l?h:3.5)),i.fill(),i.globalAlpha=1}collective(t,e){
let{ctx:n}=this,s=t.palette.name("wait"),r=t.palette.name("communication"),i=e.map(h=>this.box(t,h)).filter(h=>h!==null).sort((h,p)=>h.y-p.y);if(i.length===0)return;
let l=this.x(t,t.last);n.lineWidth=1;for(let h=0;h+1<i.length;h++){let p=i[h],u=i[h+1];n.globalAlpha=.22,n.fillStyle=s,n.beginPath(),n.moveTo(Math.min(p.x0,l),p.
y+p.h),n.lineTo(l,p.y+p.h),n.lineTo(l,u.y),n.lineTo(Math.min(u.x0,l),u.y),n.fill(),n.fillStyle=r,n.beginPath(),n.moveTo(l,p.y+p.h),n.lineTo(Math.max(p.x1,l),p.y+
p.h),n.lineTo(Math.max(u.x1,l),u.y),n.lineTo(l,u.y),n.fill()}n.globalAlpha=1,n.fillStyle=s,n.fillRect(Math.round(l),i[0].y,1,i[i.length-1].y+i[i.length-1].h-i[0].
y)}};function vr(a){return v(Math.round(a.t1-a.t0))}var Ui=896,ji=5e3,wr=600,ns=40,Wi=12,ss=class a{static rows=1024;canvas=document.createElement("canvas");ctx;image;pixels;fresh=null;owner=[];used=[];rowOf=new Map;next=0;constructor(){
this.canvas.width=512,this.canvas.height=a.rows,this.ctx=this.canvas.getContext("2d",{willReadFrequently:!0}),this.image=this.ctx.createImageData(512,a.rows),this.
pixels=new Uint32Array(this.image.data.buffer),this.clear()}clear(){this.owner=new Array(a.rows).fill(null),this.used=new Array(a.rows).fill(-1),this.rowOf.clear()}row(t,e,n){
let s=this.rowOf.get(t)??-1;if(s<0){for(;this.used[this.next]===n;)this.next=(this.next+1)%a.rows;s=this.next,this.next=(this.next+1)%a.rows;let r=this.owner[s];
r!==null&&this.rowOf.delete(r),this.owner[s]=t,this.rowOf.set(t,s),this.draw(t,s,e)}return this.used[s]=n,s}flush(){if(this.fresh===null)return;let[t,e]=this.fresh;
this.fresh=null,this.ctx.putImageData(this.image,0,0,0,t,512,e-t)}draw(t,e,n){let{strip:s}=t,r=this.pixels.subarray(e*512,(e+1)*512);if(s===null)return;this.fresh=
this.fresh===null?[e,e+1]:[Math.min(this.fresh[0],e),Math.max(this.fresh[1],e+1)];let[i,l,h]=n.wait;for(let p=0;p<512;p++){let u=s.covered[p],d=s.class[p];if(d===
0){r[p]=0;continue}let m=28+Math.round(u*(227/255)),c=s.waited[p]===0?0:Math.min(s.waited[p]/Math.max(u,1),1),[f,g,x]=n.strip[d]??n.strip[9];r[p]=m<<24|Math.round(
x+(h-x)*c)<<16|Math.round(g+(l-g)*c)<<8|Math.round(f+(i-f)*c)}}},nn=class a{static most=65536;x0=new Float32Array(a.most);x1=new Float32Array(a.most);wait=new Float32Array(
a.most);lane=new Uint16Array(a.most);color=new Uint8Array(a.most);class=new Uint8Array(a.most);span=new Uint32Array(a.most);name=new Uint32Array(a.most);n=0},ne=class a{constructor(t,e,n){
this.canvas=t;this.tiles=e;this.names=n;this.ctx=t.getContext("2d",{alpha:!1})}canvas;tiles;names;stats={paints:0,overlays:0,drawImage:0,fillRect:0,fillText:0,tiles:0,
missing:0,viewBytes:0,mostImages:0,mostRects:0,script:[]};ctx;atlas=new ss;pieces=new nn;first=[];scene=null;frame=0;widths=new Map;hatch=null;hatched=null;restyle(){
this.atlas.clear()}static needs(t){let e=vt(t.view,t.width);return{level:e,needs:t.lanes.map(n=>{let s=t.moved[n.rank]??0,[r,i]=Te({t0:t.view.t0-s,t1:t.view.t1-
s},e);return{lane:n.lane,from:r,to:i}})}}paint(t){let{ctx:e,stats:n}=this,s=window.devicePixelRatio||1,r=Math.round(t.width*s),i=Math.round(t.height*s);(this.canvas.
width!==r||this.canvas.height!==i)&&(this.canvas.width=r,this.canvas.height=i),this.scene=t,this.frame++,n.paints++,n.drawImage=n.fillRect=n.fillText=n.tiles=n.
missing=n.viewBytes=0,e.setTransform(s,0,0,s,0,0),e.imageSmoothingEnabled=!1,this.ground(t),this.strips(t),this.spans(t),this.bands(t),n.mostImages=Math.max(n.mostImages,
n.drawImage),n.mostRects=Math.max(n.mostRects,n.fillRect)}rect(t,e,n,s){this.stats.fillRect++,this.ctx.fillRect(t,e,n,s)}ground(t){let{ctx:e}=this,{name:n}=t.palette;
e.fillStyle=n("bg"),this.rect(0,0,t.width,t.height),e.fillStyle=n("panel");for(let r of t.lanes)this.rect(0,r.y-t.top,t.width,r.height);if(t.lines.length===0)return;
e.fillStyle=n("line");let s=t.width/(t.view.t1-t.view.t0);for(let r of t.lines)this.rect(Math.round((r-t.view.t0)*s),0,1,t.height)}bands(t){if(t.bands.length===
0)return;let{ctx:e}=this,n=t.width/(t.view.t1-t.view.t0);e.fillStyle=t.palette.name("share");for(let s of t.bands){let r=Math.round((s.would-t.view.t0)*n),i=Math.
round((s.end-t.view.t0)*n),l=s.top-t.top,h=s.bottom-s.top;e.globalAlpha=.3,this.rect(Math.min(r,i),l,Math.abs(i-r),h),e.globalAlpha=1,this.rect(r-1,l,2,h)}}strips(t){
let{ctx:e,stats:n,pieces:s}=this,{level:r,needs:i}=a.needs(t),l=t.width/(t.view.t1-t.view.t0),h=512*2**r,p=this.tiles.of(r,t.stretched),u=this.tiles.levelsOf(t.
stretched).filter(m=>m>r).sort((m,c)=>m-c).map(m=>({level:m,get:this.tiles.of(m,t.stretched)}));s.n=0,this.first.length=0;let d=[];for(let m=0;m<i.length;m++){let{
lane:c,from:f,to:g}=i[m],x=t.lanes[m],b=t.moved[x.rank]??0;this.first.push(s.n);let w=null;for(let k=f;k<=g&&d.length<Ui;k++){let R=(k*h+b-t.view.t0)*l,S=h*l,$=x.
y-t.top,H=x.height,q=p(c,k),B=0,j=512;if(q===void 0){n.missing++;for(let F of u){let it=2**(F.level-r),kt=Math.floor(k/it);if(q=F.get(c,kt),q!==void 0){j=512/it,
B=(k-kt*it)*j,q!==w&&this.gather(q,m,(kt*h*it+b-t.view.t0)*l,l*dt(F.level),l*2**F.level,F.level,t),w=q;break}}}else n.tiles++,n.viewBytes+=q.bytes,this.gather(q,
m,R,l*dt(r),l*2**r,r,t);q!==void 0&&q.strip!==null&&!(q===w&&q.whole)&&d.push({row:this.atlas.row(q,t.palette,this.frame),from:B,columns:j,x:R,w:S,y:$,h:H})}}this.
first.push(s.n),this.atlas.flush(),e.globalAlpha=t.found===null?1:.35;for(let m of d)e.drawImage(this.atlas.canvas,m.from,m.row,m.columns,1,m.x,m.y,m.w,m.h);n.drawImage=
d.length,e.globalAlpha=1}gather(t,e,n,s,r,i,l){let h=this.pieces,p=dt(i)/2**i;for(let u=0;u<t.pieces&&h.n<nn.most;u++){let d=n+t.start[u]*s,m=d+t.width[u]*s,c=d;
if((t.flags[u]&8)!==0&&t.strip!==null){let b=Math.floor(t.start[u]*p),w=Math.min(Math.ceil((t.start[u]+t.width[u])*p),512),k=b+ +(b<w&&t.strip.waited[b]>0);for(;k>
b&&k<w&&t.strip.waited[k]>=128;)k++;k>b&&(c=Math.min(n+k*r,m))}let f=h.n-1;if((t.flags[u]&1)!==0&&f>=this.first[e]&&h.span[f]===t.span[u]){c>d&&(h.wait[f]=c),h.
x1[f]=m;continue}let g=t.name[u],x=t.class[u];h.x0[h.n]=d,h.x1[h.n]=m,h.wait[h.n]=c,h.lane[h.n]=e,h.class[h.n]=x,h.color[h.n]=x*ar+(l.found!==null&&!l.found.has(
g)?or:g*7%3),h.span[h.n]=t.span[u],h.name[h.n]=g,h.n++}}threshold(t,e){let n=this.pieces,{width:s}=this.scene;if(n.n<=t)return e;let r=new Uint32Array(256),i=0;
for(let l=0;l<n.n;l++)n.x1[l]<=0||n.x0[l]>=s||r[Math.min(Math.floor(n.x1[l]-n.x0[l]),255)]++;for(let l=255;l>=0;l--)if(i+=r[l],i>t)return Math.max(l+1,e);return e}spans(t){
let{ctx:e,pieces:n}=this,s=ji-2*t.bands.length,r=s-this.stats.fillRect,i=this.threshold(Math.floor(r*.8),0),l=[],h=[];for(let p=0;p<n.n;p++)n.x1[p]-n.x0[p]<i||n.
x1[p]<=0||n.x0[p]>=t.width||((l[n.color[p]]??=[]).push(p),n.wait[p]>n.x0[p]&&h.push(p));if(l.forEach((p,u)=>{e.fillStyle=t.palette.fill[u];for(let d of p){let m=t.
lanes[n.lane[d]],c=Math.max(Math.round(n.x0[d]),-2),f=Math.min(Math.round(n.x1[d]),t.width+2);this.rect(c,m.y-t.top,Math.max(f-c-(f-c>3?1:0),1),m.height)}}),h.length>
0){e.fillStyle=this.hatching(t.palette);for(let p of h.slice(0,Math.max(s-this.stats.fillRect,0))){let u=t.lanes[n.lane[p]],d=Math.max(Math.round(n.x0[p]),-2),m=Math.
min(Math.round(n.wait[p]),t.width+2);(t.found===null||t.found.has(n.name[p]))&&this.rect(d,u.y-t.top,Math.max(m-d,1),u.height)}}this.labels(t,i)}labels(t,e){let{
ctx:n,pieces:s}=this,r=Math.max(this.threshold(wr,ns),ns,e);n.font="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",n.textBaseline="middle",n.textAlign=
"left";let i="";for(let l=0;l<s.n;l++){if(t.lanes[s.lane[l]].height<Wi||s.x1[l]-s.x0[l]<r||this.stats.fillText>=wr)continue;let h=s.x0[l],p=s.x1[l],u=t.palette.
text[s.color[l]];s.wait[l]>h&&(s.wait[l]-Math.max(h,0)>Math.min(p,t.width)-s.wait[l]?(p=s.wait[l],u=t.palette.waitText):h=s.wait[l]),h=Math.max(h,0),p=Math.min(
p,t.width);let d=p-h-7;if(d<ns-10)continue;let m=this.fit(this.names.get(s.name[l]),d);if(m==="")continue;u!==i&&(n.fillStyle=i=u);let c=t.lanes[s.lane[l]];this.
stats.fillText++,n.fillText(m,h+4,c.y-t.top+c.height/2+.5)}}fit(t,e){if(t==="")return"";let n=this.widths.get(t);if(n===void 0&&(this.widths.size>2e4&&this.widths.
clear(),n=this.ctx.measureText(t).width,this.widths.set(t,n)),n<=e)return t;let s=Math.floor(t.length*(e-9)/n);return s<2?"":t.slice(0,s)+"…"}hatching(t){if(this.
hatched!==t){let e=document.createElement("canvas"),n=e.getContext("2d");e.width=e.height=6,n.fillStyle=t.waitFill[0],n.fillRect(0,0,6,6),n.strokeStyle=t.waitFill[1],
n.lineWidth=1.5,n.beginPath();for(let s of[-6,0,6])n.moveTo(s,6),n.lineTo(s+6,0);n.stroke(),this.hatch=this.ctx.createPattern(e,"repeat"),this.hatched=t}return this.
hatch??t.waitFill[0]}hit(t,e){let n=this.scene;if(n===null)return null;for(let s=0;s<n.lanes.length;s++){let r=n.lanes[s];if(e<r.y-n.top||e>=r.y-n.top+r.height+
1)continue;let i=this.pieces,l=this.first[s],h=this.first[s+1];for(;l<h;){let p=l+h>>1;i.x1[p]<=t?l=p+1:h=p}return l<this.first[s+1]&&i.x0[l]<=t?{lane:r,span:i.
span[l],name:i.name[l],class:i.class[l],x0:i.x0[l],x1:i.x1[l]}:r}return null}classAt(t,e){let n=this.scene,s=vt(n.view,n.width),r=n.view.t0+e/n.width*(n.view.t1-
n.view.t0)-(n.moved[t.rank]??0),i=512*2**s,l=this.tiles.of(s,n.stretched)(t.lane,Math.floor(r/i));if(l?.strip==null)return{class:0,covered:0};let h=Math.floor((r-
l.index*i)/2**s);return{class:l.strip.class[h],covered:l.strip.covered[h]/255}}};var Gi=3;function xr(a){let t=new Uint8Array(a),e=new DataView(a),n=[],s=4,r=()=>{let l=0,h=1;for(;;){let p=t[s++];if(l+=(p&127)*h,p<128)return l;h*=128}},i=()=>{
let l=r();return l%2===0?l/2:-(l+1)/2};for(let l=e.getUint32(0,!0);l>0;l--){s+=4;let h=r(),p=t[s++]===1,u=new Float64Array(h),d=new Float64Array(h),m=new Int32Array(
h),c=new Uint32Array(h);for(let b=0;b<h;b++)u[b]=i();for(let b=0,w=0;b<h;b++)u[b]+=w,w=d[b]=u[b]+r();for(let b=0,w=0;b<h;b++)w=m[b]=w+i();for(let b=0;b<h;b++)c[b]=
r();let f=t.slice(s,s+h),g=t.slice(s+h,s+2*h);s+=2*h;let x=null;if(p){x=new Float64Array(h);for(let b=0;b<h;b++)x[b]=r()}n.push({start:u,end:d,span:m,name:c,class:f,
flags:g,wait:x})}return n}function yr({start:a},t){let e=0,n=a.length;for(;e<n;){let s=e+n>>1;a[s]<t?e=s+1:n=s}return e}function kr(a,t,e){let n=yr(a,t),s=-1;for(n>
0&&a.end[n-1]>t&&n--;n<a.start.length&&a.start[n]<e;n++)(s<0||a.end[n]-a.start[n]>a.end[s]-a.start[s])&&(s=n);return s}function Mr(a,t,e,n){let s=2**n,r=e*512*s,
i=r+512*s,l=dt(n),h={class:new Uint8Array(512),covered:new Uint8Array(512),waited:new Uint8Array(512)},p=new Float64Array(512),u=new Float64Array(512),d=new Float64Array(
512).fill(-1),m=[],c=(w,k,R)=>{for(let S=Math.max(Math.floor((k-r)/s),0),$=r+S*s;S<512&&$<R;S++,$+=s)w[S]+=Math.min(R,$+s)-Math.max(k,$)},f=yr(a,r),g=0;for(f>0&&
a.end[f-1]>r&&f--;f<a.start.length&&a.start[f]<i;f++,g++){let w=a.start[f],k=a.end[f],R=k-w,S=Math.max(Math.floor((w-r)/s),0),$=Math.min(Math.max(Math.ceil((k-r)/
s)-1,S),511);for(let H=S;H<=$;H++)R<=d[H]||(d[H]=R,h.class[H]=a.class[f]);c(p,w,k),a.wait!==null&&a.wait[f]>0&&c(u,w,w+a.wait[f]),R>=Gi*s&&m.push(f)}for(let w=0;w<
512;w++)h.covered[w]=Math.ceil(Math.min(p[w],s)*255/s),h.waited[w]=Math.ceil(Math.min(u[w],s)*255/s);let x=w=>Uint32Array.from(m,w),b=w=>Math.max(a.start[w],r);
return{lane:t,index:e,bytes:0,whole:g===m.length,strip:g===0?null:h,pieces:m.length,start:x(w=>Math.floor((b(w)-r)/l)),width:x(w=>Math.floor((Math.min(a.end[w],
i)-b(w))/l)),span:x(w=>a.span[w]),name:x(w=>a.name[w]),class:Uint8Array.from(m,w=>a.class[w]),flags:Uint8Array.from(m,w=>a.flags[w]|(a.start[w]<r?1:0)|(a.end[w]>
i?2:0))}}function Ki(a,t,e){let n=[],s=0;for(let r of a){let{from:i,to:l}=r;for(;i<=l&&t(r.lane,i);)i++;for(;l>=i&&t(r.lane,l);)l--;if(l=Math.min(l,i+e-s-1),l<i)continue;
s+=l-i+1;let h=n[n.length-1];h!==void 0&&h.last===r.lane-1&&h.from===i&&h.to===l?h.last=r.lane:n.push({first:r.lane,last:r.lane,from:i,to:l})}return n.map(r=>`${r.
first}-${r.last}@${r.from}_${r.to}`).join(";")}var Sr=4e3,sn=class a{constructor(t,e,n,s){this.epoch=t;this.levelsThere=e;this.ask=n;this.arrived=s}epoch;levelsThere;ask;arrived;levels=new Map;loading=!1;failed=new Set;lanes=null;asks=!0;received=0;requests=0;static key(t,e){
return t*2**32+(e+2**31)}at(t,e){let n=(e?"s":"w")+t,s=this.levels.get(n);return s===void 0?s=new Map:this.levels.delete(n),this.levels.set(n,s),s}of(t,e){let n=this.
levels.get((e?"s":"w")+t);return n===void 0?()=>{}:(s,r)=>n.get(a.key(s,r))}add(t,e,n){let s=this.at(t,e);for(let r of fr(n,this.epoch))s.set(a.key(r.lane,r.index),
r);this.received+=n.byteLength}levelsOf(t){return[...this.levels.keys()].filter(e=>e.startsWith(t?"s":"w")).map(e=>Number(e.slice(1)))}from(t){this.lanes=t,this.
arrived()}make(t,e){let n=this.of(e,!1),s=this.at(e,!1),r=!1;for(let i of t)for(let l=i.from;l<=i.to;l++)n(i.lane,l)===void 0&&(s.set(a.key(i.lane,l),Mr(this.lanes[i.
lane],i.lane,l,e)),r=!0);r&&this.forget(),r&&this.arrived()}load(t,e,n){if(this.lanes!==null)return this.make(t,e);if(this.loading||!this.asks)return;let s=this.
of(e,n),r=this.levelsThere.length>0,i=Ki(t,(h,p)=>s(h,p)!==void 0,448);if(r){let h=this.levelsThere.find(p=>!this.levels.has("w"+p));if(h===void 0||h<Math.min(e,
this.levelsThere[0]))return;[e,i]=[h,"all"]}let l=`${e} ${n} ${i}`;i===""||this.failed.has(l)||(this.loading=!0,this.requests++,this.ask(e,n,i).then(h=>{this.add(
e,n,h),r||this.forget()},h=>{throw this.failed.add(l),h}).finally(()=>{this.loading=!1,this.arrived()}))}forget(){let t=0;for(let e of this.levels.values())t+=e.
size;for(let[e,n]of this.levels){if(t<=Sr)return;if(this.levels.size===1)break;t-=n.size,this.levels.delete(e)}for(let e of this.levels.values())for(let n of e.
keys()){if(t<=Sr)return;e.delete(n),t--}}kept(){let t=0;for(let e of this.levels.values())t+=e.size;return t}},rn=class{constructor(t,e,n){this.size=t;this.ask=
e;this.arrived=n}size;ask;arrived;blocks=new Map;async whole(t){let e=Math.floor(t/this.size);return(this.blocks.get(e)??await this.ask(e))[t-e*this.size]??""}get(t){
let e=Math.floor(t/this.size),n=this.blocks.get(e);return n===void 0&&(this.blocks.set(e,null),this.ask(e).then(s=>{this.blocks.set(e,s),this.arrived()})),n?.[t-
e*this.size]??""}};var Xi=256,_r=128;function Yi(a,t){let e=t[a.rank];return t.filter(n=>n!==e).map(({delay_ns:n,launched:s,...r})=>{let i=r.span>=0,l=i&&e.launched&&s;return{...r,
longer_ns:i?r.dur_ns-a.dur_ns:0,later_ns:i?r.start_ns-a.start_ns:0,delays:l,delayed_ns:l?n-e.delay_ns:0}})}var an=class{constructor(t,e,n,s){this.head=t;this.lanes=
e;this.names=n;this.ask=s;this.places=t.ranks.map(()=>new Map);for(let r of t.rows)for(let i=r.lane;i<r.lane+r.lanes;i++)e[i]?.span.forEach((l,h)=>this.places[r.
rank].set(l,[i,h]))}head;lanes;names;ask;places;rankOf(t){return this.head.rows.find(e=>t>=e.lane&&t<e.lane+e.lanes)?.rank??0}async at(t,e){let n=this.lanes[t],
s=n.start[e],r=n.end[e];return{rank:this.rankOf(t),span:n.span[e],lane:t,label:await this.names.whole(n.name[e]),start_ns:s,dur_ns:r-s,stretched_ns:[s,r]}}async link(t,e){
if(typeof e!="number")return e;let n=this.places[t].get(e);return n===void 0?{rank:t,span:-1,lane:-1,label:"",start_ns:0,dur_ns:0,stretched_ns:[0,0]}:this.at(...n)}links(t,e=[]){
return Promise.all(e.map(n=>this.link(t,n)))}async span(t,e){let n=await this.ask("timeline/details",{rank:t,block:Math.floor(e/Xi)}).then(i=>i[e],()=>{}),s=n?.
self??await this.link(t,e);if(n===void 0)return this.little(s);let r={...s,name:n.name,category:n.category,class:n.class,step:n.step,step_name:n.step_name??"",layer:n.
layer??"",args:n.args??[],wait_ns:n.wait_ns??0,last:n.last,launch:n.launch===void 0?null:await this.link(t,n.launch),delay_ns:n.delay_ns??0,launched:await this.
links(t,n.launched),launches:n.launches??0,around:await this.links(t,n.around),op:n.op===void 0?null:await this.link(t,n.op),calls:await this.links(t,n.calls),counterparts:n.
counterparts??[]};if(n.group!==void 0){let i=(await this.ask("timeline/groups",{block:Math.floor(n.group/_r)}))[n.group%_r];r.counterparts=Yi(r,await Promise.all(
i.map(async([l,h,p,u,d,m],c)=>({...await this.link(c,l),rank:c,why:h,other:p,grid:u,delay_ns:d,launched:m}))))}return r}little(t){let e=this.places[t.rank].get(
t.span);if(e===void 0)throw new Error("no such span");let n=this.lanes[e[0]];return{...t,name:t.label,category:"",class:n.class[e[1]],step:this.head.steps.findIndex(
s=>t.start_ns>=s.start_ns&&t.start_ns<s.end_ns),step_name:"",layer:"",args:[{name:"details",value:"not in this page: open the capture with stepscope view"}],wait_ns:n.
wait?.[e[1]]??0,last:-1,launch:null,delay_ns:0,launched:[],launches:0,op:null,calls:[],around:[],counterparts:[]}}async hit(t,e,n){let s=kr(this.lanes[t],e,n);return s<
0?null:this.at(t,s)}async beside(t,e){let n=this.places[t.rank].get(t.span),s=(n?.[1]??0)+(e?-1:1);return n===void 0||s<0||s>=this.lanes[n[0]].span.length?null:
this.at(n[0],s)}async next(t,e,n,s){let r=null,i=0,l=0,h=0;for(let p of e.map(u=>this.head.rows[u]))for(let u=p.lane;u<p.lane+p.lanes;u++){let d=this.lanes[u];d.
name.forEach((m,c)=>{if(!t.has(m))return;l++,h+=d.end[c]-d.start[c];let f=d.start[c];(s?f<n:f>n)&&(r===null||(s?f>i:f<i))&&(r=[u,c],i=f)})}return{next:r===null?
null:await this.at(...r),spans:l,total_ns:h}}};var rs=()=>new N("An exported page does not have this: open the capture with stepscope view.",404);function Ji({last_ns:a,at:t},e){let n=0;return a.forEach((s,r)=>{
Math.abs(s-e)<Math.abs(a[n]-e)&&(n=r)}),t[n]}var on=class a{constructor(t,e,n){this.head=t;this.c=e;this.exported=t.levels.length>0||t.columns,this.tiles=new sn(
t.epoch,t.levels,(s,r,i)=>de("timeline/tiles",{c:e,level:s,axis:r?"stretched":null,tiles:this.exported?null:i}),n),this.names=new rn(t.block,s=>M("timeline/name\
s",{c:e,block:s}),n),this.told=this.exported?Z(this.columns()):null,this.told}head;c;tiles;names;exported;told;async columns(){this.tiles.asks=!this.head.columns;
let t=this.head.columns?xr(await de("timeline/columns",{c:this.c})):[];return this.head.columns&&this.tiles.from(t),new an(this.head,t,this.names,(e,n)=>M(e,{c:this.
c,...n}))}static alignment({by:t,step:e,at:n}){return{align:t,step:t==="step"?e:null,at:t==="collective"?n:null}}heat(t){return de("timeline/heat",{c:this.c,measure:t})}async align(t){
return this.exported&&t.by==="collective"?Ji(await M("timeline/collectives",{c:this.c}),t.at):M("timeline/align",{c:this.c,...a.alignment(t)})}async span(t,e){return this.
told===null?M("timeline/span",{c:this.c,rank:t,span:e}):(await this.told).span(t,e).catch(()=>{throw rs()})}args(t,e){return this.exported?Promise.reject(rs()):
M("timeline/args",{c:this.c,rank:t.rank,span:t.span},e)}range(t,e){if(this.exported){let n=this.head.steps.findIndex(s=>s.start_ns===t.range?.t0&&s.end_ns===t.range.
t1);return n<0||n>=this.head.summed||t.by!=="wall"||e!==this.pinned()?Promise.reject(new N(this.sums(),404)):M("timeline/range",{c:this.c,from:this.head.steps[n].
start_ns,to:this.head.steps[n].end_ns})}return t.range===null?Promise.reject(rs()):M("timeline/range",{c:this.c,from:t.range.t0,to:t.range.t1,rows:e,...a.alignment(
t)})}pinned(){return qe(this.head,Oe(this.head,new Set,[]))}sums(){return`An exported page sums up steps${this.head.summed<this.head.steps.length?`, up to step ${this.
head.summed-1},`:""} by the wall clock, over its initial rows: click on one above the rows.`}async search(t,e,n,s){if(!this.exported)return M("timeline/search",
{c:this.c,q:t,rows:e,after:Math.round(n),back:s?1:null});let r=[],i=t.toLowerCase();for(let h=0;h*this.head.block<this.head.names;h++)(await M("timeline/names",
{c:this.c,block:h})).forEach((p,u)=>p.toLowerCase().includes(i)&&r.push(h*this.head.block+u));let l=await(await this.told).next(new Set(r),this.head.columns?e.split(
",").map(Number):[],n,s);return{names:[],all:r.length,ids:r,...l}}async ribbons(t,e){return this.exported?(await M("timeline/ribbons",{c:this.c})).ribbons.filter(
n=>n.first_ns<e&&n.end_ns>t):(await M("timeline/ribbons",{c:this.c,from:t,to:e,most:300})).ribbons}counters(t,e,n){if(this.exported)return M("timeline/counters",
{c:this.c});let s=Math.floor(t.t0);return M("timeline/counters",{c:this.c,from:s,to:Math.max(Math.ceil(t.t1),s+1),n:e,rank:n})}parts(t){return this.exported?Promise.
resolve([]):M("timeline/parts",{c:this.c,domain:t.domain,index:t.index})}moved(t,e,n,s){return M("timeline/moved",{c:this.c,from:e,to:n,n:s,ranks:t.join(",")})}hit(t,e,n,s){
return this.told!==null?this.head.columns?this.told.then(r=>r.hit(t,e,n)):Promise.resolve(null):(e=Math.floor(e),M("timeline/hit",{c:this.c,lane:t,from:e,to:Math.
max(Math.ceil(n),e+1),axis:s?"stretched":null}))}alike(t,e){return this.exported?Promise.resolve(null):M("timeline/alike",{c:this.c,rank:t.rank,span:t.span,which:e})}beside(t,e){
return this.told!==null?this.head.columns?this.told.then(n=>n.beside(t,e)):Promise.resolve(null):M("timeline/beside",{c:this.c,rank:t.rank,span:t.span,back:e?1:
null})}};var Qi=200,Zi=2,ta=[-1,-1],ln=class{constructor(t,e){this.context=t;this.head=e;this.all=Ee(e),this.state=wt(this.store.params,e),this.source=new on(e,this.store.
params.c,()=>this.draw("lanes"));let{tiles:n,names:s}=this.source;this.painter=new ne(o("canvas",{class:"lanes",role:"img","aria-label":"Spans of all rows"}),n,
s),this.minimap=new tn(o("canvas",{role:"img","aria-label":"The whole capture"}),n,e)}context;head;el=o("div",{class:"tl"});all;source;state;plan={groups:[],sums:[],
lanes:[],height:0};alignment=null;found=null;selected=null;pointer={x:-1,y:-1,box:null};crossing=null;palette=Qn();ribbons=[];moved=new Map;dirty=new Set;frame=0;settle=0;settled="";waits=new Map;painter;overlay=new en(
o("canvas",{class:"overlay"}));ruler=new W(o("canvas",{role:"img","aria-label":"Time, steps and collectives"}));minimap;body=o("div",{class:"tl-body",tabindex:"\
0",role:"region","aria-label":"Rows of all ranks"});search=o("input",{type:"search",placeholder:"Search names  /","aria-label":"Search names of spans"});strips=o(
"canvas",{class:"tl-strips"});spacer=o("div",{class:"tl-spacer"});length=o("span",{class:"length",title:"Visible time"});legend=o("div",{class:"legend"});classes=o(
"p",{class:"tl-classes","aria-label":"Colours"});get store(){return this.context.store}get width(){return Math.max(this.body.clientWidth-Xt(this.body.clientWidth),
50)}wait(t){this.done(t),Z(new Promise(e=>this.waits.set(t,e)))}done(t){this.waits.get(t)?.(),this.waits.delete(t)}lay(t,e){return Oe(this.head,t,e,this.state.how)}stretchTo(t){
this.spacer.style.height=t+"px"}rows(){return qe(this.head,this.plan)}forget(){let{range:t,rows:e}=wt(this.store.params,this.head);Object.assign(this.state,{range:t,
rows:e}),this.draw("overlay")}unpoint(){this.pointer.box=null,this.crossing=null,P()}clear(){this.store.set({sel:null,r0:null,r1:null,area:null}),this.panel.hide()}time(t){
return this.state.view.t0+t/this.width*(this.state.view.t1-this.state.view.t0)}shown(t){if(this.state.by==="stretched")return{start:t.stretched_ns[0],end:t.stretched_ns[1]};
let e=this.alignment?.moved_ns[t.rank]??0;return{start:t.start_ns+e,end:t.start_ns+e+t.dur_ns}}draw(...t){for(let e of t)this.dirty.add(e);this.frame===0&&(this.
frame=requestAnimationFrame(()=>this.paint()))}restyle(){this.palette=Qn(),this.painter.restyle(),this.draw("lanes","heat","overlay","gutter");let t=document.documentElement.
dataset.print!==void 0;this.el.style.width=t?this.el.clientWidth+"px":"",this.el.style.zoom=t?String(Math.min(720/this.el.clientWidth,1)):"",t&&(cancelAnimationFrame(
this.frame),this.paint())}colours(){let t=new Set(Wn(this.head,this.plan).flatMap(e=>this.head.rows[e].classes));y(this.classes,...[...t].sort((e,n)=>e-n).map(e=>o(
"span",{class:"key"},Qe(e),this.head.classes[e])),this.head.stretch&&o("span",{class:"key"},o("i",{class:"tl-swatch tl-waits"}),"waits for other ranks"))}scene(){
let t=this.body.scrollTop,e=this.body.clientHeight,{view:n}=this.state,s=[],{lanes:r}=Ue(this.head,this.state.only);if(this.state.by==="wall"&&r.length===1){let{
steps:p}=r[0],[u,d]=je(p,n);if((d-u)*40<this.width)for(let m=u;m<d;m++)p[m].end_ns!==0&&s.push(p[m].start_ns)}let i=this.plan.groups.filter(p=>p.y+p.height>t&&p.
y<t+e),l=Zi*(n.t1-n.t0)/this.width,h=this.state.by==="wall"?sr(Be(this.ghosts.all,n),i,l,Qi):[];return{view:n,width:this.width,height:e,top:t,lanes:Ct(this.plan.
lanes,t,t+e),lines:s,bands:h,moved:this.alignment?.moved_ns??[],stretched:this.state.by==="stretched",palette:this.palette,found:this.found===null?null:new Set(
this.found.ids)}}otherwise(t){return t.length===1?this.ghosts.words():""}above(){let{lanes:t}=Ue(this.head,this.state.only);return{view:this.state.view,width:this.
width,palette:this.palette,lanes:t,wall:this.state.by==="wall",ribbons:this.ribbons,picked:this.state.step,otherwise:this.otherwise(t)!=="",ghosts:this.ghosts.over}}paint(){
this.frame=0;let t=performance.now(),e=this.dirty,{stats:n}=this.painter,s=Xt(this.body.clientWidth)+"px";if(this.el.style.getPropertyValue("--gutter")!==s&&this.
el.style.setProperty("--gutter",s),this.dirty=new Set,!this.el.isConnected||this.body.clientHeight===0)return;e.has("lanes")?this.lanes():e.has("overlay")&&this.
marks();let{scrollTop:r,clientHeight:i}=this.body;(e.has("gutter")||this.gutter.lacks(r,i,this.plan.height))&&this.gutter.draw({head:this.head,plan:this.plan,how:this.
state.how,open:this.state.open,here:this.state.rank,moved:this.alignment},r,i),e.has("gutter")&&this.legends(),e.has("heat")&&this.heat.paint(this.palette),n.script.
push(performance.now()-t),n.script.length>4e3&&n.script.splice(0,2e3)}legends(){let t=this.state.by==="wall",{lanes:e,left:n}=Ue(this.head,this.state.only),s=Qt(
e.length),r=this.otherwise(e);y(this.legend,o("div",null,this.state.by==="stretched"?"stretched time":"time",t&&n>0&&`; steps of ${n} more replicas not shown`),
...t?e.map(i=>{let l=o("div",{class:s<18?"low":null},i.name===""?"steps":"steps of "+i.name);return l.style.height=s+"px",l}):[],t&&r!==""&&o("div",{title:"if "+
r},"if "+r),t&&this.head.stretch&&o("div",null,"waits in collectives"))}lanes(){let t=this.scene(),{level:e,needs:n}=ne.needs(t),{tiles:s}=this.source;this.painter.
paint(t);for(let p of[this.painter.canvas,this.overlay.canvas,this.strips])p.style.height=t.height+"px";for(let p of[this.painter.canvas,this.overlay.canvas,this.
strips,this.ruler.canvas,this.minimap.canvas])p.style.width=t.width+"px";let r=this.minimap.needs(this.all,this.width);s.load(n,e,t.stretched),s.load(r.needs,r.
level,!1),this.minimap.canvas.style.height=qt+"px",this.minimap.paint(this.all,t.view,this.width,this.palette);let i=this.above(),l=W.height(i,this.head.stretch);
this.ruler.canvas.style.height=l+"px",this.ruler.paint(i,l);let h=vr(t.view);this.length.textContent!==h&&(this.length.textContent=h),this.load?.paint(this.state.
by==="wall"?t.view:null,t.width,this.palette,this.store.params),this.counters.paint(this.state.counters&&this.state.by==="wall"?t.view:null,t.width,this.palette,
this.state.rank),this.offsets(t),this.rest(t),this.heat.view(...i.wall&&i.lanes.length>0?this.stepsShown():ta),this.marks()}stepsShown(){let[t,e]=je(this.head.steps,
this.state.view);return e>t?[t,e-1]:[-1,-1]}marks(){let t=this.selected,e=this.scene();this.painter.stats.overlays++,this.overlay.paint({...e,lanes:new Map(e.lanes.
map(n=>[n.lane,n])),place:n=>this.shown(n),selected:t,counterparts:t===null?[]:t.counterparts.filter(n=>n.span>=0),flows:t===null?[]:Zs(t),awaited:t===null?null:
t.last===t.rank?t:$t(t),range:this.state.range,rows:this.state.rows.length>0?new Set(this.state.rows):null,collective:this.crossing?.links??null,last:this.crossing?.
of.last_ns??0},this.pointer)}offsets(t){let e=t.stretched&&this.moved.size>0,n=this.alignment!==null&&(this.state.by==="step"||this.state.by==="collective");if(this.
strips.hidden=!e&&!n,this.strips.hidden)return;let s=e?this.moved:new Map((this.alignment?.moved_ns??[]).map((i,l)=>[l,[i]])),r=Math.max(...[...s.values()].map(
i=>Math.max(...i.map(Math.abs))),1);Xs(this.strips,this.plan,t.top,t.width,t.height,s,r,this.palette.name("medium"))}rest(t){let{t0:e,t1:n}=t.view,s=this.plan.groups.
filter(l=>l.y+l.height>t.top&&l.y<t.top+t.height).map(l=>l.rank),r=this.state.counters&&this.state.by==="wall",i=JSON.stringify([e,n,this.state.by,t.stretched?s:
0,r&&[this.state.rank,t.width]]);i===this.settled||!this.head.stretch&&!r||this.state.by!=="wall"&&!t.stretched||(this.settled=i,clearTimeout(this.settle),this.
wait("rest"),this.settle=window.setTimeout(()=>{let l=Math.floor(e),h=Math.ceil(n);r&&this.counters.rest(t.view,t.width,this.state.rank).then(()=>this.draw("lan\
es"));let p=t.stretched?this.source.moved(s,l,h,240).then(u=>{this.moved=new Map(s.map((d,m)=>[d,u[m]]))}):this.source.ribbons(l,h).then(u=>{this.ribbons=u});this.
done("rest"),p.then(()=>this.draw("lanes"))},80))}close(){clearTimeout(this.settle);for(let t of[...this.waits.keys()])this.done(t);cancelAnimationFrame(this.frame),
P()}};function Tr(a,t){let e=new Map,n=()=>{let[s,r]=[...e.values()];return{middle:(s+r)/2,apart:Math.max(Math.abs(s-r),8)}};a.addEventListener("pointerdown",s=>{s.pointerType===
"touch"&&e.size<2&&e.set(s.pointerId,s.offsetX)}),a.addEventListener("pointermove",s=>{let r=e.get(s.pointerId);if(r===void 0)return;if(e.size===1){t.pan(s.offsetX-
r),e.set(s.pointerId,s.offsetX);return}let i=n();e.set(s.pointerId,s.offsetX);let l=n();t.zoom(i.apart/l.apart,i.middle),t.pan(l.middle-i.middle)});for(let s of[
"pointerup","pointercancel"])a.addEventListener(s,r=>e.delete(r.pointerId))}var hn=class{constructor(t,e,n){this.at=t;this.moves=e;this.ranks=n}at;moves;ranks;listen(){let{at:t,moves:e,ranks:n}=this,s=t.overlay.canvas,r=t.ruler.canvas,i=t.
minimap.canvas;t.search.addEventListener("input",()=>t.store.set({q:we(t.search.value,t.head)!==null?null:t.search.value})),t.search.addEventListener("keydown",
h=>{if(h.key==="Enter"){if(h.preventDefault(),n.go(t.search.value))return void(t.search.value="");e.nextFound(h.shiftKey)}}),t.body.addEventListener("scroll",()=>{
t.unpoint(),t.draw("lanes"),Math.abs(t.body.scrollTop-t.state.y)>1&&e.write()}),t.body.addEventListener("wheel",h=>this.wheel(h),{passive:!1});for(let h of[r,i])
h.addEventListener("wheel",p=>this.wheel(p,!0),{passive:!1});for(let h of[s,r,i])Tr(h,{pan:p=>h===i||e.pan(-p/t.width),zoom:(p,u)=>e.zoom(p,u)});is(s,(h,p,u)=>{
if(h.pointerType!=="touch"){if(h.shiftKey||h.buttons===4)return e.pan(-h.movementX/t.width);this.measure(h,p,u)}},(h,p)=>{let{range:u,rows:d}=t.state;P(),p?u!==
null&&!h.shiftKey&&h.pointerType!=="touch"&&u.t1>u.t0&&t.store.set({r0:u.t0,r1:u.t1,area:_e(d),sel:null},"push"):this.click(h.offsetX,h.offsetY)},()=>t.forget()),
is(r,h=>h.pointerType==="touch"||e.pan(-h.movementX/t.width),(h,p)=>{p||this.clickRuler(h.offsetX,h.offsetY)}),r.addEventListener("dblclick",h=>{let p=W.stepAt(
t.above(),h.offsetX,h.offsetY);p!==null&&e.steps(p.step,p.step,"push",{step:p.step},p.lane.steps)});let l=h=>{let p=t.all.t0+h.offsetX/t.width*(t.all.t1-t.all.t0),
u=(t.state.view.t1-t.state.view.t0)/2;e.look(Re({t0:p-u,t1:p+u},0,t.all))};is(i,l,(h,p)=>p||l(h)),s.addEventListener("pointermove",h=>h.buttons===0&&this.hover(
h.offsetX,h.offsetY)),s.addEventListener("pointerleave",()=>this.hover(-1,-1)),r.addEventListener("pointermove",h=>h.buttons===0&&this.hoverRuler(h.offsetX,h.offsetY)),
r.addEventListener("pointerleave",()=>this.hoverRuler(-1,-1))}measure(t,e,n){let{at:s}=this,r=t.ctrlKey||t.metaKey,i=s.body.scrollTop,l=t.offsetX,h=t.offsetY,p=r?
s.time(e):this.snapped(e,n),u=r?s.time(l):this.snapped(l,h),d={t0:Math.round(Math.min(p,u)),t1:Math.round(Math.max(p,u))};s.state.range=d,s.state.rows=Bs(s.plan,
n+i,h+i,t.altKey),O(s.overlay.canvas,l,h,{title:v(d.t1-d.t0),rows:[["from",ee(d.t0)],["to",ee(d.t1)],["rows",s.state.rows.length===0?"all that are visible":String(
s.state.rows.length)]]}),s.draw("overlay")}snapped(t,e){let{at:n}=this,s=n.time(t),{view:r,by:i}=n.state,l=gr*(r.t1-r.t0)/n.width,h=n.body.scrollTop,p=Ct(n.plan.
lanes,e+h,e+h+1)[0],u=i==="stretched",d=null;if(p!==void 0){let m=u?0:n.alignment?.moved_ns[p.rank]??0,c=vt(r,n.width);d=br(n.source.tiles.of(c,u),p.lane,c,s-m,
l),d!==null&&(d+=m)}if(i==="wall")for(let m of n.head.steps)m.end_ns>0&&(d=Zt(Zt(d,m.start_ns,s,l),m.end_ns,s,l));return d??s}wheel(t,e=!1){let n=t.deltaMode===
1?16:1,s=t.deltaX*n,r=t.deltaY*n,i=t.clientX-this.at.overlay.canvas.getBoundingClientRect().left;if(t.ctrlKey||t.metaKey||e&&!t.shiftKey&&Math.abs(r)>=Math.abs(
s))this.moves.zoom(Math.exp(Math.min(Math.max(r,-240),240)/300),i);else if(t.shiftKey||Math.abs(s)>Math.abs(r))this.moves.pan((t.shiftKey&&s===0?r:s)/this.at.width);else
return;t.preventDefault()}async click(t,e){let{at:n}=this,s=n.painter.hit(t,e);if(s===null)return n.clear();if(!("span"in s)&&s.rank<0){let l=n.plan.sums.find(h=>h.
lanes.includes(s.lane));return void(l&&this.moves.turn("g"+l.group))}let r=(l,h)=>n.store.set({rank:l,sel:h,r0:null,r1:null,area:null},"push");if("span"in s)return r(
s.lane.rank,s.span);let i=await this.moves.hit(s,n.time(t-1),n.time(t+2));i===null?n.clear():r(s.rank,i.span)}clickRuler(t,e){let{at:n}=this,s=n.above(),r=W.stepAt(
s,t,e),i=W.ribbonAt(s,t,e);if(r!==null){let l=r.lane.steps[r.step];n.store.set({step:r.step,r0:l.start_ns,r1:l.end_ns,area:null,sel:null},"push")}else if(i!==null){
let l=Math.max(i.last_ns-i.first_ns,i.end_ns-i.last_ns,1e3);n.state.view=At({t0:i.last_ns-1.5*l,t1:i.last_ns+.8*l},i.late.start_ns,0,n.all),this.moves.go(i.late)}}hover(t,e){
let{at:n}=this,s=t<0?null:n.painter.hit(t,e);if(n.pointer={x:t,y:e,box:s!==null&&"span"in s?{x0:s.x0,x1:s.x1,lane:s.lane}:null},t>=0&&(n.crossing=null),n.marks(),
s===null)return P();if("span"in s)return this.tip(s,t,e);let{class:r,covered:i}=n.painter.classAt(s,t);r===0?P():s.rank<0?O(n.overlay.canvas,t,e,{title:n.head.classes[r],
rows:[["busy here, mean of the ranks",_(Math.round(i*100)/100)],["","a click opens or folds the group"]]}):O(n.overlay.canvas,t,e,{title:n.head.classes[r],rows:[
["busy here",_(Math.round(i*100)/100)],["","a click selects the longest span"]]})}tip(t,e,n){let{head:s,state:r,source:i,width:l,overlay:h}=this.at,p=s.rows[t.lane.
row],u=(t.x1-t.x0)/l*(r.view.t1-r.view.t0),d=[[s.ranks[p.rank],p.name],["what",s.classes[t.class]??""]];r.by!=="stretched"&&d.push(["duration",v(Math.round(u))]),
O(h.canvas,e,n,{title:i.names.get(t.name),rows:d})}hoverRuler(t,e){let{at:n}=this,{head:s,source:r}=n,i=n.ruler.canvas,l=n.above(),h=t<0?null:W.ribbonAt(l,t,e),
p=t<0?null:W.stepAt(l,t,e),u=t<0?null:W.ghostAt(l,t,e);if(h!==null)O(i,t,e,pr(h,s.ranks[h.late.rank])),n.crossing?.of!==h&&(n.crossing={of:h,links:[]},r.parts(h).
then(d=>{n.crossing?.of===h&&(n.crossing.links=d),n.draw("overlay")}));else if(n.crossing=null,u!==null)O(i,t,e,rr(u));else if(p===null)P();else{let d=p.lane.steps[p.
step];O(i,t,e,{title:`step ${p.step}, ${d.kind}`,rows:[["name",d.name],[p.lane.name||"all ranks",v(d.end_ns-d.start_ns)]]})}n.draw("overlay")}};function is(a,t,e,n=()=>{}){
let s=NaN,r=NaN,i=!1;a.addEventListener("pointerdown",l=>{if(!(l.button>1)){if(!l.isPrimary){i=!0;return}s=l.offsetX,r=l.offsetY,i=!1,a.setPointerCapture(l.pointerId)}}),
a.addEventListener("pointermove",l=>{Number.isNaN(s)||!l.isPrimary||(i||=Math.abs(l.offsetX-s)>4,i&&t(l,s,r))}),a.addEventListener("pointerup",l=>{l.isPrimary&&
(Number.isNaN(s)||e(l,i),s=NaN)}),a.addEventListener("pointercancel",()=>{i&&!Number.isNaN(s)&&n(),s=NaN})}var ea={node:"node",replica:"replica (DP)",stage:"stage (PP)",block:"block"},pn=class{constructor(t,e){this.at=t;this.moves=e}at;moves;set(t){this.at.body.scrollTop=
0,this.at.store.set({y:null,...t},"push")}items(){let{head:t,state:e}=this.at;return Et(t,e.open,e.only,e.how)}pin(t){let{pins:e}=this.at.state.how;this.set({pin:G(
e.includes(t)?e.filter(n=>n!==t):[...e,t])})}compare(){let{state:t,body:e}=this.at,{pins:n}=t.how;if(n.length<2)return;let s={only:G(n),pin:G(n),sel:null,y:null};
e.scrollTop=0,t.step<0?this.at.store.set(s,"push"):this.moves.steps(t.step,t.step,"push",{...s,align:"step",step:t.step,r0:null,r1:null,at:null})}compact(){this.
set({rows:this.at.state.how.compact?"full":"compact"})}latest(){this.set({order:this.at.state.how.late?null:"late"})}group(t){let{open:e}=this.at.state;this.set(
{group:t===""?"none":t,open:[...e].filter(n=>!n.startsWith("g")).join(",")||null})}all(){let t=this.items().filter(s=>"group"in s),e=new Set(this.at.state.open),
n=t.some(s=>!s.open);for(let s of t)n?e.add("g"+s.group):e.delete("g"+s.group);this.set({open:[...e].join(",")||null})}next(t){let{state:e,store:n,plan:s,body:r}=this.
at,i=this.items().filter(c=>!("group"in c)||!c.open),l=c=>"group"in c?c.ranks.includes(e.rank):c.rank===e.rank,h=i.findIndex(l),p=i[Math.min(Math.max(h<0?t>0?0:
i.length-1:h+t,0),i.length-1)];if(p===void 0)return;let[u,d]="group"in p?[s.sums.find(c=>c.group===p.group)?.y??0,16]:(c=>[c?.y??0,c?.height??0])(s.groups.find(
c=>c.rank===p.rank)),m=Math.max(Math.min(r.scrollTop,u),u+Math.min(d,r.clientHeight)-r.clientHeight);m!==r.scrollTop&&(r.scrollTop=m),n.set({rank:"group"in p?p.
ranks[0]:p.rank,sel:null,y:Math.round(m)||null})}go(t){let{head:e,state:n,store:s,body:r}=this.at,i=we(t,e);if(i===null)return!1;let l=i.ranks.length>0?{pin:G([
...new Set([...n.how.pins,...i.ranks])]),rank:i.ranks[0]}:{};return r.scrollTop=0,i.step<0?s.set({...l,y:null,q:null},"push"):this.moves.steps(i.step,i.step,"pu\
sh",{...l,step:i.step,y:null,q:null}),!0}tools(){let{head:t,state:e,store:n}=this.at,{how:s}=e,{pins:r}=s;if(t.ranks.length<2)return[];let i=e.only.length===r.length&&
r.every(h=>e.only.includes(h)),l=o("select",{"aria-label":"Group ranks by",title:"Group ranks (key: G); a group opens by a click or e",on:{change:()=>this.group(
l.value)}},o("option",{value:""},"no groups"),...t.groupings.map(h=>o("option",{value:h.id},"by "+(ea[h.id]??h.id))));return l.value=s.by,[t.groupings.length>0&&
l,t.ranks.length>2&&o("span",{role:"group","aria-label":"List of ranks"},o("button",{class:"choice","aria-pressed":String(s.late),title:"List the ranks that arr\
ive latest at collectives first (key: o)",on:{click:()=>this.latest()}},"latest first"),o("button",{class:"choice","aria-pressed":String(s.compact),title:"One l\
ine for each rank (key: v)",on:{click:()=>this.compact()}},"compact")),r.length>0&&!i&&o("span",{class:"tl-only"},"pinned "+ve(t,r),r.length>1&&o("button",{class:"\
button",title:"Show the pinned ranks alone, aligned at the chosen step, if there is one (key: P)",on:{click:()=>this.compare()}},"compare"),o("button",{class:"q\
uiet",title:"Unpin all","aria-label":"Unpin all",on:{click:()=>n.set({pin:null},"push")}},"✕"))]}bind(){let{at:t}=this,e=(n,s,r)=>t.context.keys.bind(n,"Ranks",
s,r);e("j","the next rank or group",()=>this.next(1)),e("k","and the previous one",()=>this.next(-1)),e("p","pin the rank on top, or unpin it",()=>t.state.rank>=
0&&this.pin(t.state.rank)),e("P","compare the pinned ranks",()=>this.compare()),e("v","one line for each rank, or all rows",()=>this.compact()),e("o","list the \
latest ranks first",()=>this.latest()),t.head.groupings.length!==0&&(e("G","next way to group ranks",()=>{let n=["",...t.head.groupings.map(s=>s.id)];this.group(
n[(n.indexOf(t.state.how.by)+1)%n.length])}),e("e","open or fold the group of the rank",()=>{let n=be(t.head,t.state.how,t.state.rank);n!==""&&this.moves.turn(n)}),
e("E","open or fold all groups",()=>this.all()))}};function Rr(a,t,e,n,s){let r=f=>f.getAttribute("aria-label")??f.textContent,{state:i,head:l,store:h,search:p,ghosts:u}=t,d=a.contains(document.activeElement)?r(
document.activeElement):null,m=i.heat!=="off",c=i.by==="step"?`at step ${i.step}`:i.by==="collective"?"at the one nearest to the middle":"between collectives";y(
a,p,o("span",{role:"group","aria-label":"Align ranks by (key: A)"},...e.choices().map(f=>o("button",{class:"choice",title:f.help,"aria-pressed":String(f.by===i.
by),data:{align:f.by},on:{click:()=>e.choose(f.by)}},f.title))),i.by!=="wall"&&o("span",{class:"tl-soft"},c),i.only.length>0&&o("span",{class:"tl-only"},"only "+
ve(l,i.only),o("button",{class:"quiet",title:"All ranks (key: r)","aria-label":"All ranks",on:{click:()=>h.set({only:null})}},"✕")),...n.tools(),i.by==="wall"&&
l.steps.length>1&&u.picker(l.ranks,i.rank,t.context.capture?.fixes??[],f=>h.set({set:f},"push")),i.by==="wall"&&u.outcome()!==""&&o("span",{class:"tl-soft tl-ou\
tcome",title:u.outcome()},u.outcome()),o("span",{class:"tl-view"},l.steps.length>1&&o("button",{class:"button","aria-pressed":String(m),title:"Ranks × steps (ke\
y: h)",on:{click:()=>h.set({heat:m?"off":l.measure})}},"map"),l.counters>0&&o("button",{class:"button","aria-pressed":String(i.counters),title:"Memory, requests\
, clocks (key: K)",on:{click:()=>h.set({counters:i.counters?"off":null})}},"counters"),o("button",{class:"button",title:"The whole capture (key: 0)",on:{click:()=>e.
whole()}},"whole"),o("button",{class:"button","aria-label":"Zoom out",title:"Zoom out (key: s)",on:{click:()=>e.zoom(2,t.width/2)}},"−"),o("button",{class:"bu\
tton","aria-label":"Zoom in",title:"Zoom in (key: w)",on:{click:()=>e.zoom(.5,t.width/2)}},"+"),s)),d!==null&&[...a.querySelectorAll("input, select, button")].find(
f=>r(f)===d)?.focus()}var as=class extends ln{arrived=!1;high=0;watch;moves=new Ge(this);ranks=new pn(this,this.moves);heat;ghosts;load;counters;panel;gutter;tools=o("div",{class:"tl\
-tools"});constructor(t,e){super(t,e),this.heat=new Ie(e,{load:s=>this.source.heat(s),choose:s=>this.store.set({heat:s}),pick:(s,r)=>this.moves.compare(s,r),open:s=>this.
moves.turn("g"+s),brush:(s,r)=>this.moves.steps(s,r,"push")},()=>this.draw("heat")),this.ghosts=new Ve(this.store.params.c,t.session.exported?.whatif??null,()=>{
this.draw("lanes","gutter"),this.toolbar()});let n=t.capture?.load||null;this.load=n===null?null:new Fe(n,t.capture.id,this.all,()=>{this.draw("lanes"),this.state.
range!==null&&this.state.sel<0&&this.sum()}),this.counters=new Ce(e.counters,{load:(s,r,i)=>this.source.counters(s,r,i),peak:(s,r)=>this.moves.moment(s,r)}),this.
panel=new Ze(e,{go:s=>this.moves.go(s),sort:s=>this.store.set({sort:s}),close:()=>this.clear(),alike:s=>{this.moves.alike(s)},ranks:s=>this.store.set({area:s===
null?null:_e(this.rowsOf(s))}),dock:s=>this.store.set({panel:s})},this.el,this.source.exported),this.gutter=new Ne(e,s=>this.moves.turn(s),s=>this.ranks.pin(s)),
this.spacer.append(this.gutter.el,o("div",{class:"tl-stage"},this.painter.canvas,this.strips,this.overlay.canvas)),this.body.append(this.spacer),this.el.append(
this.tools,this.heat.el,o("div",{class:"tl-above tl-mini"},o("div",{class:"legend"},"all recorded"),this.minimap.canvas),o("div",{class:"tl-above tl-rule"},this.
legend,this.ruler.canvas),this.load?.el??"",this.counters.el,this.body,this.panel.el,this.classes),new hn(this,this.moves,this.ranks).listen(),this.moves.bind(),
this.ranks.bind(),this.watch=new ResizeObserver(()=>{this.hold(),this.draw("lanes","heat","gutter")}),this.watch.observe(this.body),this.apply(this.store.params,
null),this.count()}attached(){let{rank:t,sel:e,y:n}=this.state,s=this.plan.groups.find(r=>r.rank===t);this.body.scrollTop=this.store.params.y!==void 0||e>=0||s===
void 0?n:Yt(this.body,{...s,lane:-1,row:-1}),this.panel.dock.measure()}count(){let{tiles:t}=this.source;window.__stats=Object.assign(this.painter.stats,{received:()=>t.
received,requests:()=>t.requests,kept:()=>t.kept(),idle:()=>jt()&&this.frame===0,shown:()=>this.state.view,box:()=>this.box(),selected:()=>this.selected,step:e=>this.
head.steps[e],look:e=>{let n=this.head.steps[this.head.steps.length-1]??{start_ns:this.all.t0,end_ns:this.all.t1};this.moves.look(e((n.start_ns+n.end_ns)/2))}})}hold(){
let{selected:t,body:e,high:n}=this,s=t===null?void 0:this.plan.lanes.find(r=>r.lane===t.lane);this.high=e.clientHeight,t!==null&&s!==void 0&&s.y+s.height>e.scrollTop&&
s.y<e.scrollTop+n&&this.moves.reveal(t)}box(){let t=this.selected,{view:e}=this.state,n=e.t1-e.t0;if(t===null)return null;let{start:s,end:r}=this.shown(t),i=this.
plan.lanes.find(h=>h.lane===t.lane),l=this.body.scrollTop;return{left:(s-e.t0)/n,width:(r-s)/n,seen:i!==void 0&&i.y>=l&&i.y+i.height<=l+this.body.clientHeight}}update(t,e){
this.apply(t,e)}apply(t,e){let n=(...l)=>e===null||l.some(h=>t[h]!==e[h]),s=wt(t,this.head);this.moves.pending&&!n("t0","t1")&&(s.view=this.state.view),this.state=
s,n("only","open","pin","rows","group","order")&&(this.plan=this.lay(s.open,s.only),this.heat.list(Et(this.head,s.open,[],{...s.how,pins:[]})),this.stretchTo(this.
plan.height),this.colours());let r=n("panel")&&this.panel.dock.show(t.panel)&&e!==null;r&&s.range===null&&this.select(),n("y","only","open","pin","rows","group",
"order")&&Math.abs(this.body.scrollTop-s.y)>1&&(this.body.scrollTop=s.y),n("align","step","at")&&(e===null||s.by!==this.alignment?.by||s.by!=="wall")&&this.align(),
this.heat.marked=s.found,n("heat")&&this.heat.show(s.heat).then(()=>this.draw("heat")),n("set")&&this.ghosts.show(t.set),n("q")&&this.seek(),n("rank","sel")&&(e===
null||this.selected?.rank!==s.rank||this.selected?.span!==s.sel)&&this.select(),(r||n("r0","r1","rows","area","group","only","open","align","step","at","sort"))&&
s.sel<0&&this.sum(),this.draw("lanes","overlay","heat"),(e===null||Object.keys({...t,...e}).some(l=>!["t0","t1","y"].includes(l)&&n(l)))&&(this.draw("gutter"),this.
toolbar())}align(){this.source.align(this.state).then(t=>{this.state.by===t.by&&(this.alignment=t,this.settled="",this.draw("lanes","overlay","gutter"))})}seek(){
let{q:t}=this.state;if(this.search.value!==t&&document.activeElement!==this.search&&(this.search.value=t),t===""){this.found!==null&&this.state.sel<0&&this.state.
range===null&&this.panel.hide(),this.found=null;return}this.source.search(t,this.rows(),this.state.view.t0,!1).then(e=>{this.state.q===t&&(this.found=e,this.state.
sel<0&&this.state.range===null&&this.panel.found(e,t),this.draw("lanes"))})}select(){let{rank:t,sel:e}=this.state;if(e<0){this.selected=null,this.state.range===
null&&(this.found!==null?this.panel.found(this.found,this.state.q):this.panel.hide());return}this.source.span(t,e).then(n=>{this.state.rank!==t||this.state.sel!==
e||(this.selected=n,this.panel.span(n),this.panel.args(n,this.source),(this.arrived||this.store.params.y===void 0)&&this.moves.reveal(n),!this.arrived&&this.store.
params.t0===void 0&&this.moves.frame(n),this.arrived=!0,this.draw("overlay","lanes"))}).catch(n=>this.lacking(n))}sum(){let{range:t,sort:e}=this.state;if(t===null){
this.found===null&&this.panel.hide();return}let{rows:n}=this.state;this.source.range(this.state,n.length>0?n.join(","):this.rows()).then(s=>{this.state.range?.t0!==
t.t0||this.state.range.t1!==t.t1||this.state.rows.join()!==n.join()||this.state.sel>=0||(this.panel.range(s,this.plan.groups.map(r=>r.rank),n.length>0,e,this.during(
t)),this.draw("overlay","lanes"))}).catch(s=>this.lacking(s))}during(t){let{load:e}=this;if(e===null||this.state.by!=="wall")return!1;let n=e.during(t),s=40;return o(
"p",{class:"tl-requests"},`Requests in progress: ${n.length===0?"none":n.length} `,...n.slice(0,s).map(r=>o("a",{class:"chip",href:e.link(this.store.params,t,r)},
String(r))),n.length>s&&` and ${n.length-s} more`)}lacking(t){if(!(t instanceof N)||t.status===0)throw t;this.selected=null,this.panel.note(t.message),this.draw(
"overlay","lanes")}rowsOf(t){return this.plan.groups.filter(n=>t.includes(n.rank)).map(n=>({rank:n.rank,rows:n.rows.map(s=>s.row)})).flatMap(n=>{let s=n.rows.filter(
r=>this.state.rows.includes(r));return s.length>0?s:n.rows})}toolbar(){Rr(this.tools,this,this.moves,this.ranks,this.length)}close(){this.moves.close(),super.close(),
this.watch.disconnect()}},os=class{el=o("div",null);view=null;closed=!1;constructor(t){M("timeline/head",{c:t.store.params.c}).then(e=>{this.closed||(this.view=
new as(t,e),this.el.replaceChildren(this.view.el),this.view.attached(),this.view.draw("lanes","heat","gutter"))})}update(t,e){this.view?.update(t,e)}restyle(){this.
view?.restyle()}close(){this.closed=!0,this.view?.close()}},Er={id:"timeline",title:"Timeline",needs:"capture",open:a=>new os(a)};function na(a,t,e){let n=e.startsWith("-"),s=t.find(l=>l.id===(n?e.slice(1):e)),r=a.slice();if(!s)return r;let i=n?-1:1;if(s.num){let l=s.num.bind(s);return r.sort(
(h,p)=>{let u=l(h),d=l(p);return Number.isNaN(u)||Number.isNaN(d)?Number(Number.isNaN(u))-Number(Number.isNaN(d)):i*(+(u>d)-+(u<d))})}return r.sort((l,h)=>i*s.text(
l).localeCompare(s.text(h),"en"))}function sa(a,t,e){let n=e.toLowerCase().split(/\s+/).filter(s=>s!=="");return a.filter(s=>{let r=t(s).toLowerCase();return n.
every(i=>r.includes(i))})}function ls(a){return a.map(t=>{if(typeof t=="number")return Number.isFinite(t)?String(t):"";let e=/^[=+\-@\t\r]/.test(t)?"'"+t:t;return/[",\r\n]/.
test(e)?'"'+e.replace(/"/g,'""')+'"':e}).join(",")+`\r
`}function Lr(a,t,e){let n=URL.createObjectURL(new Blob([e],{type:t}));o("a",{href:n,download:a}).click(),setTimeout(()=>URL.revokeObjectURL(n),1e4)}var ra=100,
Nt=class{constructor(t,e,n,s,r,i){this.store=t;this.columns=n;this.usual=s;this.key=r;this.onpick=i;this.el.setAttribute("aria-label",e)}store;columns;usual;key;onpick;el=o(
"div",{class:"table",role:"region",tabindex:"0"});rows=[];shown(){let{q:t="",sort:e=this.usual}=this.store.params;return na(sa(this.rows,this.key,t),this.columns,
e)}set(t,e=this.columns){this.rows=t,this.columns=e,this.draw()}draw(){let{sort:t=this.usual,sel:e,all:n}=this.store.params,s=this.shown(),r=n==="1"?s:s.slice(0,
ra),i=o("tr",null,...this.columns.map(h=>{let p=t.replace(/^-/,"")===h.id,u=t.startsWith("-"),d=p?u?h.id:"-"+h.id:h.num?"-"+h.id:h.id;return o("th",{scope:"col",
class:(h.num?"r ":"")+(h.class??""),"aria-sort":p?u?"descending":"ascending":null,title:h.help},o("button",{on:{click:()=>this.store.set({sort:d===this.usual?null:
d})}},h.title,p&&o("span",{"aria-hidden":"true"},u?" ▾":" ▴")))})),l=r.map(h=>{let p=o("tr",{class:e!==void 0&&this.key(h)===e?"selected":null},...this.columns.
map(u=>o("td",{class:(u.num?"r ":"")+(u.class??"")},u.cell?u.cell(h):u.text(h))));return this.onpick&&p.addEventListener("click",u=>u.target.closest("a, button")===
null&&this.onpick(h)),p});y(this.el,o("table",null,o("thead",null,i),o("tbody",null,...l))),s.length===0&&this.el.append(o("p",{class:"none"},this.rows.length===
0?"There are no rows.":"No row matches.")),s.length>r.length&&this.el.append(o("button",{class:"more button",on:{click:()=>this.store.set({all:"1"})}},`Show all\
 ${s.length}`))}};function nt(a,t){return a.total[t]/Math.max(a.steps,1)}function un(a,t){return a.other[t]/Math.max(a.other_steps,1)}function Ar(a){let t=a.parent.length,e=a.other.
length>0,n={first:new Int32Array(t),last:new Int32Array(t),weight:new Float64Array(t),depth:new Int32Array(t)};for(let r=1;r<t;r++){let i=a.parent[r];n.last[i]===
0&&(n.first[i]=r),n.last[i]=r+1,n.depth[r]=n.depth[i]+1}let s=new Float64Array(t);for(let r=t-1;r>=0;r--)n.weight[r]=Math.max(nt(a,r),e?un(a,r):0,s[r]),r>0&&(s[a.
parent[r]]+=n.weight[r]);return n}function Pr(a,t,e,n){let s=[],r=t.weight[e];if(!(r>0))return s;let i=[{node:e,depth:0,x:0,w:1}];for(let l=i.pop();l;l=i.pop()){
s.push(l);let h=l.x;for(let p=t.first[l.node];p<t.last[l.node];p++){if(a.parent[p]!==l.node)continue;let u=t.weight[p]/r;u>=n&&i.push({node:p,depth:l.depth+1,x:h,
w:u}),h+=u}}return s}function Cr(a,t){let e=0;for(;t.last[e]-t.first[e]===1&&!a.kernel[t.first[e]]&&t.weight[t.first[e]]>=.98*t.weight[e];)e=t.first[e];return e}
function dn(a,t){let e=[];for(;t>0;t=a.parent[t])e.push(t);return e.reverse()}function $r(a,t){let e=nt(a,t),n=un(a,t),s=Math.max(e,n);return s>0?(e-n)/s:0}var st=19,ia=60;function aa([a,t,e]){let[n,s,r]=[a,t,e].map(i=>i/255<=.03928?i/255/12.92:Math.pow((i/255+.055)/1.055,2.4));return .2126*n+.7152*s+.0722*r>.179?"\
#000000":"#ffffff"}var cn=class{constructor(t){this.onpick=t;this.sizes.observe(this.el),this.ground.addEventListener("pointermove",e=>this.point(this.hit(e.offsetX,
e.offsetY),e.offsetX,e.offsetY)),this.ground.addEventListener("pointerleave",()=>this.point(-1)),this.ground.addEventListener("blur",()=>this.point(-1)),this.ground.
addEventListener("click",e=>{let n=this.hit(e.offsetX,e.offsetY);n>=0&&this.onpick(this.drawn[n].node)}),this.ground.addEventListener("keydown",e=>this.key(e.key)&&
(e.preventDefault(),e.stopPropagation()))}onpick;el=o("div",{class:"flame"});ground=this.el.appendChild(o("canvas",{tabindex:"0",role:"img"}));over=this.el.appendChild(
o("canvas",{class:"over","aria-hidden":"true"}));flame=null;tree=null;drawn=[];focus=0;at=-1;lit=()=>!1;sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.
draw()));set(t,e){this.flame=t,this.tree=Ar(t),this.zoom(e)}get walk(){return this.tree}zoom(t){this.focus=this.flame&&t<this.flame.parent.length?t:0,this.at=-1,
this.draw()}light(t){this.lit=t,this.draw()}drop(){this.sizes.disconnect(),P()}hit(t,e){let n=this.ground.clientWidth,s=Math.floor(e/st);return this.drawn.findIndex(
r=>r.depth===s&&t>=r.x*n&&t<(r.x+r.w)*n)}draw(){let t=this.flame,e=this.tree,n=this.el.clientWidth,s=window.devicePixelRatio||1;if(!t||!e||n===0)return;this.drawn=
Pr(t,e,this.focus,.7/n).filter(p=>p.depth<ia);let r=(this.drawn.reduce((p,u)=>Math.max(p,u.depth),0)+1)*st;for(let p of[this.ground,this.over])p.style.height=r+
"px",p.width=Math.round(n*s),p.height=Math.round(r*s);this.el.style.height=r+"px",this.ground.setAttribute("aria-label",`Flame graph of ${t.names[t.name[this.focus]]||
"all work"}: arrows move, Enter zooms in, Escape out`);let i=this.ground.getContext("2d");if(!i)return;i.setTransform(s,0,0,s,0,0),i.font="11px system-ui, sans-\
serif",i.textBaseline="middle";let l=at(),h=new Map;for(let p of this.drawn){let u=this.colorOf(t,p.node),d=h.get(u);if(!d){let x=u.startsWith("=")?this.difference(
l,Number(u.slice(1))):I(l(u));h.set(u,d=[`rgb(${x.join()})`,aa(x)])}let m=p.x*n,c=p.w*n,f=p.depth*st;i.fillStyle=d[0],i.fillRect(m,f,Math.max(c-(c>4?1:0),.5),st-
1);let g=t.names[t.name[p.node]]||"all";this.lit(t.full[t.name[p.node]]||g)&&(i.fillStyle=l("mark"),i.fillRect(m,f+st-4,Math.max(c-1,1),3)),!(c<40)&&(i.fillStyle=
d[1],i.fillText(pe(i,g,c-8),m+4,f+st/2))}this.mark()}colorOf(t,e){if(t.other.length>0)return"="+Math.round($r(t,e)*10)/10;if(t.parent[e]<0)return"idle";let n=t.
class[t.name[e]]||t.class[t.name[t.parent[e]]];return n?n.toLowerCase():oa(t,e)%2?"between":"idle"}difference(t,e){return e>=0?U([I(t("cold")),I(t("warm")),I(t(
"high"))],e):U([I(t("cold")),I(t("under"))],-e)}point(t,e,n){this.at=t,this.mark();let s=this.drawn[t],r=this.flame;if(!s||!r)return P();O(this.ground,e??s.x*this.
ground.clientWidth+10,n??(s.depth+.5)*st,{title:r.full[r.name[s.node]]||r.names[r.name[s.node]]||"all work",rows:this.facts(r,s.node)})}facts(t,e){let n=[["GPU \
time per step",v(nt(t,e))],["of all",_(nt(t,e)/Math.max(nt(t,0),1e-9))],["kernels per step",String(Number((t.count[e]/Math.max(t.steps,1)).toPrecision(4)))]];if(t.
other.length>0){let s=un(t,e);n.push(["in the other capture",v(s)],["difference",z(nt(t,e)-s)+(s>0?`, ${nt(t,e)>=s?"+":""}${_(nt(t,e)/s-1)}`:"")])}return n}mark(){
let t=this.over.getContext("2d"),e=window.devicePixelRatio||1,n=this.drawn[this.at];if(!t||(t.setTransform(e,0,0,e,0,0),t.clearRect(0,0,this.over.width,this.over.
height),!n))return;t.strokeStyle=at()("mark"),t.lineWidth=2;let s=this.ground.clientWidth;t.strokeRect(n.x*s+1,n.depth*st+1,Math.max(n.w*s-3,1),st-3)}key(t){let e=this.
flame;if(!e||this.drawn.length===0)return!1;let n=this.drawn[this.at]??null,s=(r,i)=>{let l=n?n.x+n.w/2:0,h=-1,p=1/0;return this.drawn.forEach((u,d)=>{let m=u.x+
u.w/2,c=i===0?Math.max(u.x-l,l-(u.x+u.w),0):i*(m-l);u.depth===r&&u!==n&&c>=0&&c<p&&(h=d,p=c)}),h};switch(t){case"ArrowDown":case"ArrowUp":case"ArrowLeft":case"A\
rrowRight":{let r=n?n.depth+(t==="ArrowDown"?1:t==="ArrowUp"?-1:0):0,i=s(r,t==="ArrowLeft"?-1:t==="ArrowRight"?1:0);return i>=0&&this.point(i),!0}case"Enter":return n?
(this.onpick(n.node),!0):!1;case"Escape":{let r=dn(e,this.focus).at(-2)??0;return this.focus===0?!1:(this.onpick(r),!0)}}return!1}};function oa(a,t){let e=0;for(;a.
parent[t]>=0;t=a.parent[t])e++;return e}var mn={kernel:{title:"Kernel",one:"kernel"},class:{title:"Class",one:"class of kernels"},op:{title:"Op",one:"CPU op"},layer:{title:"Layer",one:"layer or module"},
frame:{title:"Python",one:"Python function"}},la=["c","by","rank","kind","vs"],hs=class{constructor(t){this.context=t;let{store:e,keys:n}=t;this.table=new Nt(e,
"GPU work",[],"-total",s=>s.full||s.name,s=>{let r=s.full||s.name;e.set({sel:e.params.sel===r?null:r})}),this.search.addEventListener("input",()=>e.set({q:this.
search.value,all:null})),n.bind("/","Kernels","filter",()=>this.search.focus()),n.bind("g","Kernels","next grouping",()=>{let s=this.offered();this.choose({by:s[(s.
indexOf(this.by())+1)%s.length]})}),n.bind("Escape","Kernels","zoom out, clear the selection",()=>{e.params.sel!==void 0?e.set({sel:null}):e.set({node:null,q:null})}),
n.bind("c","Kernels","save the table as CSV",()=>this.csv()),y(this.el,this.tools,this.crumbs,this.graph.el,o("p",{class:"keys under-flame"}),this.table.el),this.
head(),this.ask()}context;el=o("div",{class:"kernels"});graph=new cn(t=>this.context.store.set({node:t===0?null:t},"push"));table;crumbs=o("p",{class:"crumbs"});tools=o(
"div",{class:"tools"});found=o("span",{class:"soft",role:"status"});search=o("input",{type:"search",placeholder:"Filter","aria-label":"Filter"});rows=null;flame=null;asking=new AbortController;offered(){
let t=this.context.capture?.groups??["kernel","class","op"];return Object.keys(mn).filter(e=>t.includes(e))}by(){let{by:t}=this.context.store.params,e=this.offered();
return t!==void 0&&e.includes(t)?t:e[0]}choose(t){this.context.store.set({node:null,sel:null,all:null,...t})}head(){let{session:t,capture:e,store:n}=this.context,
s=n.params,r=this.by(),i=o("select",{"aria-label":"Steps of kind",on:{change:()=>this.choose({kind:i.value})}},o("option",{value:""},"all steps"),...(e?.kinds??
[]).map(d=>o("option",{value:d},d)));i.value=s.kind??"";let l=o("select",{"aria-label":"Rank",on:{change:()=>this.choose({rank:l.value})}},o("option",{value:""},
"all ranks"),...(e?.ranks??[]).map((d,m)=>o("option",{value:String(m)},d)));l.value=s.rank??"";let h="a run",p=ue(t).filter(d=>d.id!==(s.c??t.captures[0]?.id)),
u=o("select",{"aria-label":"Compared with",on:{change:()=>u.value===h?n.go(A(s,{tab:"runs"})):this.choose({vs:u.value})}},o("option",{value:""},s.vs===void 0?"c\
ompare with …":"no comparison"),...p.map(d=>o("option",{value:d.id},"against "+d.title)));s.vs!==void 0&&!p.some(d=>d.id===s.vs)&&u.append(o("option",{value:s.
vs},"against "+s.vs)),t.runs&&u.append(o("option",{value:h},"a run from the list …")),u.value=s.vs??"",document.activeElement!==this.search&&(this.search.value=
s.q??""),y(this.tools,o("span",{role:"group","aria-label":"By"},...this.offered().map(d=>o("button",{class:"choice","aria-pressed":String(d===r),title:"by "+mn[d].
one,on:{click:()=>this.choose({by:d===this.offered()[0]?null:d})}},mn[d].title))),(e?.kinds.length??0)>1&&i,(e?.ranks.length??0)>1&&(t.exported?.kernel_ranks??!0)&&
l,u.options.length>1&&u,o("span",{class:"space"}),this.found,this.search,o("button",{class:"button",title:"Save the rows as shown (key: c)",on:{click:()=>this.csv()}},
"CSV"))}ask(){this.asking.abort(),this.asking=new AbortController;let{signal:t}=this.asking,e=this.context.store.params,n={c:e.c,by:this.by(),rank:e.rank,kind:e.
kind,vs:e.vs};Promise.all([M("kernels",n,t),M("flame",{...n,by:n.by==="kernel"?"class":n.by},t)]).then(([r,i])=>{this.rows=r,this.flame=i,this.show()}).catch(r=>{
if(!t.aborted)throw r})}columns(t){let e=c=>c/Math.max(t.steps,1),n=c=>c/Math.max(t.other_steps,1),s=this.by(),r=s==="kernel",i=s!=="kernel"&&s!=="class",l=t.other_steps>
0,h=this.context.store,p=t.rows.reduce((c,f)=>Math.max(c,e(f.total_ns),n(f.other_total_ns)),1e-9),u=c=>c>0&&c<.01?"< 0.01":Number.isInteger(c)?T(String(c)):X(c),
d={id:"name",title:mn[s].title,class:"name",text:c=>c.full||c.name,cell:c=>o("span",{class:"named"},c.class!==""&&ha(c.class),o("code",{title:c.full||c.name},c.
name),r&&o("a",{class:"find",href:L(A(h.params,{tab:"timeline",q:c.full||c.name})),title:"Find it in the timeline"},"find"))},m=(c,f)=>c>0?f:"";if(l){let c=f=>f.
other_total_ns>0?e(f.total_ns)/n(f.other_total_ns)-1:NaN;return[d,{id:"total",title:"this",help:"GPU time per step, mean over ranks",num:f=>e(f.total_ns),text:f=>m(
f.total_ns,v(e(f.total_ns)))},{id:"other",title:"other",help:"the same in the other capture",num:f=>n(f.other_total_ns),text:f=>m(f.other_total_ns,v(n(f.other_total_ns)))},
{id:"diff",title:"difference",help:"per step",num:f=>Math.abs(e(f.total_ns)-n(f.other_total_ns)),text:f=>z(e(f.total_ns)-n(f.other_total_ns)),cell:f=>ua(e(f.total_ns)-
n(f.other_total_ns),p)},{id:"change",title:"change",num:c,text:f=>f.other_total_ns===0?"new":f.total_ns===0?"gone":(c(f)>0?"+":"")+_(c(f))},{id:"count",title:"k\
ernels",help:"per step and rank",num:f=>f.count/Math.max(t.steps,1),text:f=>u(f.count/Math.max(t.steps,1))},{id:"count2",title:"other",num:f=>f.other_count/Math.
max(t.other_steps,1),text:f=>u(f.other_count/Math.max(t.other_steps,1))},...t.wait_ns+t.other_wait_ns>0?[{id:"wait",title:"waits",help:Hr,num:f=>e(f.wait_ns),text:f=>m(
f.wait_ns,v(e(f.wait_ns)))},{id:"wait2",title:"other",num:f=>n(f.other_wait_ns),text:f=>m(f.other_wait_ns,v(n(f.other_wait_ns)))}]:[],...r?[{id:"median",title:"\
median",num:f=>f.median_ns,text:f=>m(f.median_ns,v(f.median_ns))},{id:"median2",title:"other",num:f=>f.other_median_ns,text:f=>m(f.other_median_ns,v(f.other_median_ns))}]:
[]]}return[d,{id:"total",title:"per step",help:"GPU time per step, mean over ranks"+(t.wait_ns>0?", without waits for other ranks":"")+(i?", including everythin\
g inside":""),num:c=>c.total_ns,text:c=>v(e(c.total_ns))},...i?[{id:"self",title:"own",help:"launched directly, not by anything inside it",num:c=>c.self_ns,text:c=>m(
c.self_ns,v(e(c.self_ns)))}]:[],{id:"share",title:"share",num:c=>c.total_ns,text:c=>_(c.total_ns/Math.max(t.total_ns,1)),class:"share",cell:c=>pa(c,e(c.total_ns)/
p,c.total_ns/Math.max(t.total_ns,1))},...t.wait_ns>0?[{id:"wait",title:"waits",help:Hr,num:c=>c.wait_ns,text:c=>m(c.wait_ns,v(e(c.wait_ns)))}]:[],{id:"count",title:"\
kernels",help:"per step and rank",num:c=>c.count,text:c=>m(c.count,u(c.count/Math.max(t.steps,1)))},...t.rows.some(c=>c.role!=="")?[{id:"role",title:"role",help:"\
the modules of the model whose main kernel this is",text:c=>c.role,cell:c=>qr(c.role,c.role)},{id:"floor",title:"floor",help:"per step: the least time of these \
modules at the peaks of the device",num:c=>c.floor_ns,text:c=>m(c.floor_ns,v(e(c.floor_ns)))}]:[],...r?[{id:"median",title:"median",num:c=>c.median_ns,text:c=>v(
c.median_ns)},{id:"p99",title:"p99",num:c=>c.p99_ns,text:c=>v(c.p99_ns)},{id:"max",title:"longest",num:c=>c.max_ns,text:c=>v(c.max_ns)},{id:"spread",title:"over\
 ranks",help:"the rank with the longest median, beside the one with the shortest; or the only rank that runs it",num:c=>c.only_rank?1/0:c.rank_spread,text:Or,cell:c=>o(
"span",{title:c.only_rank||c.rank_spread<Nr?"":`the median on ${c.slowest_rank}, beside ${c.fastest_rank}, which has the shortest`},Or(c))},...t.rows.some(c=>c.
tflop_s>0)?[{id:"tflops",title:"TFLOP/s",num:c=>c.tflop_s,text:c=>m(c.tflop_s,u(c.tflop_s))}]:[],...t.rows.some(c=>c.gb_s>0)?[{id:"gbs",title:"GB/s",num:c=>c.gb_s,
text:c=>m(c.gb_s,u(c.gb_s))}]:[]]:[],...t.rows.some(c=>c.source!=="")?[{id:"source",title:"source",help:"the place in the program that launches it",text:c=>c.source,
cell:c=>qr(c.source,c.sources||c.source)}]:[]]}show(){!this.rows||!this.flame||(this.table.set(this.rows.rows,this.columns(this.rows)),this.graph.set(this.flame,
0),this.legend(),this.zoom(),this.light())}zoom(){let t=this.flame,e=this.graph.walk;if(!t||!e)return;let n=C(this.context.store.params,"node",-1),s=n>=0&&n<t.parent.
length?n:Cr(t,e);this.graph.zoom(s);let{store:r}=this.context,i=dn(t,s),l=(m,c)=>o("a",{href:L({...r.params,node:String(m)})},c),h=m=>t.names[t.name[m]],p=this.
rows,u=m=>v(m/Math.max(p.steps,1)),d=p.rows.find(m=>m.class==="wait")?.total_ns??p.wait_ns;if(i.length===0)return y(this.crumbs,`${u(t.total[0])} of GPU time pe\
r step and rank, ${d>0?u(d)+" of it waiting for other ranks, ":""}over ${T(String(this.rows.steps))} steps of all ranks together`);y(this.crumbs,l(0,"all"),...i.
flatMap((m,c)=>i.length>6&&c>=2&&c<i.length-3?c===2?[" › ",o("span",{title:i.slice(2,-3).map(h).join(" › ")},"…")]:[]:[" › ",m===s?o("b",null,h(m)):l(m,
h(m))]))}light(){let{sel:t,q:e=""}=this.context.store.params,n=e.toLowerCase().split(/\s+/).filter(r=>r!=="");this.graph.light(r=>t!==void 0?r===t:n.length>0&&n.
every(i=>r.toLowerCase().includes(i)));let s=this.table.shown().length;y(this.found,this.rows&&e!==""&&`${s} of ${this.rows.rows.length}`)}legend(){let t=this.flame,
e=t.other.length>0,n=[...new Set(t.class.filter(s=>s!==""))];y(this.el.querySelector(".under-flame"),...e?[D("--under","shorter here"),D("--cold","the same"),D(
"--high","longer here, or new")]:n.map(s=>D("--"+s.toLowerCase(),s)),t.left_out>0&&o("span",null,`${T(String(t.left_out))} parts are too small to see`))}csv(){if(!this.
rows)return;let t=this.columns(this.rows),e=this.context.capture?.title??"capture",n=r=>["total","wait","wait2","floor","self","other","diff","median","median2",
"p99","max"].includes(r.id)?" (ns)":"",s=[ls([...t.map((r,i)=>(r.title==="other"&&i>0?t[i-1].title+", other":r.title)+n(r)),"class"]),...this.table.shown().map(
r=>ls([...t.map(i=>i.id==="diff"?r.total_ns/Math.max(this.rows.steps,1)-r.other_total_ns/Math.max(this.rows.other_steps,1):this.value(i,r)),r.class]))];Lr(`${e.
replace(/[^\w.-]+/g,"_")}-${this.by()}.csv`,"text/csv",s.join(""))}value(t,e){if(!t.num)return t.text(e);let n=t.num(e),s=this.rows.other_steps>0?1:Math.max(this.
rows.steps,1);return Number.isFinite(n)?t.id==="share"?n/Math.max(this.rows.total_ns,1):["total","self","wait","floor","count"].includes(t.id)?n/s:n:t.text(e)}update(t,e){
let n=s=>s.some(r=>t[r]!==e[r]);if(n(la))return this.head(),this.ask();document.activeElement!==this.search&&(this.search.value=t.q??""),n(["node"])&&this.zoom(),
n(["sel","q"])&&this.light(),n(["sel","q","sort","all"])&&this.table.draw()}restyle(){this.graph.draw()}close(){this.asking.abort(),this.graph.drop()}};function ha(a){
return o("i",{class:"swatch s-"+a.toLowerCase().replace(/[^a-z]/g,"-"),title:a})}var Nr=.005,Hr="per step: the time in collectives until the last rank arrives, \
or while another rank was not recorded";function Or(a){return a.only_rank?"only "+a.only_rank:a.rank_spread<Nr?"":a.slowest_rank+(a.rank_spread<1?` ${_(a.rank_spread)}\
 longer`:` ${X(1+a.rank_spread)} times as long`)}function qr(a,t){return o("span",{class:"cut",title:t},a)}function pa(a,t,e){let n=o("i",{class:"s-"+(a.class||
"share").toLowerCase().replace(/[^a-z]/g,"-")});return n.style.width=Math.max(t*100,.5)+"%",o("span",{class:"part"},o("span",{class:"bar","aria-hidden":"true"},
n),o("span",null,_(e)))}function ua(a,t){let e=o("i",{class:a>0?"more-time":"less-time"});return e.style.width=Math.min(Math.abs(a)/t,1)*50+"%",o("span",{class:"\
part"},o("span",{class:"bar two","aria-hidden":"true"},e),o("span",null,z(a)))}var zr={id:"kernels",title:"Kernels",needs:"capture",open:a=>new hs(a)};var da={floor:"floor",start:"start",slow:"slow",other:"other kernels",idle:"idle"};function se(a,t,e){return a.map((n,s)=>({name:n,label:da[n]??ft(n),ns:t[s]/Math.
max(e,1)}))}function ps(a){return a.reduce((t,e)=>t+e.ns,0)}function us(a,t){return`${a.label} ${v(a.ns)} (${_(a.ns/(t||1))})`}function rt(a,t,...e){let n=document.
createElement(a);return n.append(t),n.classList.add(...e),n}function Fr(a,t,e){let n=document.createElement("table"),s=n.createTHead().insertRow(),r=n.createTBody();
n.className="shares",n.createCaption().textContent=a,t.forEach((i,l)=>{let h=rt("th",i,...l>1?["r"]:[]);h.setAttribute("scope","col"),s.append(h)});for(let[i,l,
...h]of e){let p=rt("th",i),u=r.insertRow();p.setAttribute("scope","row"),u.append(p,rt("td",l),...h.map(d=>rt("td",d.replace(/(?<=≥) | (?=[nµm]?s\b|%)/g," "),
"r")))}return n}function ca({kind:a,why:t,bars:e}){let n=e.reduce((i,l)=>i+l.steps,0),s=e.reduce((i,l)=>i+l.told,0),r=n===0?`The kernels of ${a} steps cannot be\
 assigned to modules`:`The kernels of ${n-s} of ${n} ${a} steps cannot be assigned to modules and count as other kernels`;return rt("p",`${r}: ${t}.`,"caveat")}
var Ir=16;function Br(a,t,e=""){let n=t.bars.filter(m=>e===""||m.rank===e).map(m=>({rank:m.rank,steps:m.steps,parts:se(a.parts,m.parts,m.steps)})),s=t.why===""?
[]:[ca(t)];if(n.length===0)return s;let r=Math.max(...n.map(m=>ps(m.parts)),1),i=n.reduce((m,c)=>m+c.steps,0),l=se(a.parts,a.parts.map((m,c)=>n.reduce((f,g)=>f+
g.parts[c].ns*g.steps,0)),i),h=a.parts.indexOf("wait"),p=n.map(m=>m.parts[h].ns).sort((m,c)=>m-c)[Ir-1]??1/0,u=n.filter(m=>m.parts[h].ns<=p).slice(0,Ir);s.push(
Fr(`Device time of a ${t.kind} step`,["rank",t.kind+" step","time","floor"],u.map(({rank:m,parts:c})=>{let f=ps(c);return[m,gt(c,f/r,g=>us(g,f)),v(Math.round(f)),
_(c[0].ns/(f||1))]})));let d=rt("p",n.length>1?"Mean: ":"","keys");return d.append(...l.filter(m=>m.ns>0).map(m=>D("--"+m.name,us(m,ps(l))))),s.push(d),u.length<
n.length&&s.push(rt("p",`The ${u.length} of ${n.length} ranks that wait least for others; the mean is that of all.`,"keys")),s}function Dr(a,{rank:t,steps:e,modules:n},s=r=>r.
module){let r=Math.max(...n.map(p=>p.time_ns),1),i=n.map(p=>{let u=Math.min(p.floor_ns,p.time_ns),d=Math.min(Math.max(p.attainable_ns,u),p.time_ns),m=p.why!==""?
se(["other"],[p.time_ns],e):se(["floor","start","slow"],[u,d-u,p.time_ns-d],e),c=gt(m,p.time_ns/r,f=>us(f,p.time_ns/e));return[s(p),c,v(Math.round(p.time_ns/e)),
p.why===""?p.floor:"not known",p.of_attainable>0?_(p.of_attainable):"–"]}),l=rt("p","","keys");l.append(...se(["floor","start","slow"],[0,0,0],1).map(p=>D("--"+
p.name,p.label)));let h=n.filter(p=>p.why!=="").map(p=>`${p.module}: ${p.why}.`);return h.length>0&&l.append(D("--other","floor not known")),n.some(p=>p.floor.startsWith(
"≥"))&&h.push("≥: a lower bound, so the slow part may be smaller than drawn."),[Fr(`Modules of a ${a} step on ${t}`,["module",a+" step","time","floor","of a\
ttainable"],i),l,...h.map(p=>rt("p",p,"keys"))]}var ma=8,ds=class{constructor(t){this.context=t;M("light",{c:t.store.params.c}).then(e=>{this.light=e,this.show()})}context;el=o("div",{class:"light"});light=null;show(){
let{store:t,capture:e}=this.context,n=this.light;if(n===null)return;if(n.none)return y(this.el,o("p",{class:"caveat"},n.says));let{params:s}=t,r=e.kinds.flatMap(
d=>n.kinds.filter(m=>m.kind===d)),i=r.find(d=>d.kind===s.kind)??r[0],l=e.ranks[Number(s.rank??NaN)]??"",h=i.ranks.find(d=>d.rank===(l||i.rank)),p=o("select",{"a\
ria-label":"Steps of kind",on:{change:()=>t.set({kind:p.value===r[0].kind?null:p.value})}},...r.map(d=>o("option",{value:d.kind},d.kind)));p.value=i.kind;let u=o(
"select",{"aria-label":"Rank",on:{change:()=>t.set({rank:u.value})}},o("option",{value:""},"all ranks"),...e.ranks.map((d,m)=>o("option",{value:String(m)},d)));
u.value=l===""?"":s.rank,y(this.el,o("p",{class:"lead"},n.says),o("div",{class:"tools"},r.length>1&&p,e.ranks.length>1&&u),o("figure",null,o("figcaption",null,`\
Device time of a mean ${i.kind} step, from the floor to the whole`),...Br(n,i,l)),h!==void 0&&o("figure",null,o("figcaption",null,`Modules on ${h.rank}`),...Dr(
i.kind,h,d=>this.name(h,d))),o("p",{class:"soft"},"Floor: the least time at the peaks of the device. Start: what good kernels need beyond it. Slow: what kernels\
 take beyond that. A module leads to its longest kernel in the timeline."))}name({index:t},e){let n=i=>L(A(this.context.store.params,{tab:"timeline",...i})),s=(e.
end_ns-e.start_ns)*ma,r={rank:String(t),t0:String(e.start_ns-s),t1:String(e.end_ns+s)};return o("span",{class:"named"},e.end_ns>e.start_ns?o("a",{href:n(e.span<
0?r:{...r,sel:String(e.span)}),title:e.full},e.module):o("span",{title:e.full},e.module),o("a",{class:"find",href:n({q:e.full}),title:"Find its kernel in the ti\
meline: "+e.kernel},"find"))}update(t,e){(t.kind!==e.kind||t.rank!==e.rank)&&this.show()}},fn={id:"light",title:"Speed of light",needs:"light",open:a=>new ds(a)};var fa={host:["Hosts","time of host threads before and after launches"],device:["Kernels","time of all kernels and copies, without waiting"],work:["Work","kerne\
ls and copies as those of the other ranks: only like peers"],collective:["Transfers","time of collectives once all ranks have arrived"],gap:["Gaps","unexplained\
 time on the device"],"class:gemm":["GEMM","time of matrix products"],"class:comm":["communication","time of kernels that communicate"]},ga=2,ba=.05,cs=class{constructor(t){
this.context=t;t.keys.bind("0","What if","reset",()=>t.store.set({set:null})),y(this.el,this.panel,this.outcome),this.ask()}context;el=o("div",{class:"whatif"});panel=o(
"section",{class:"panel","aria-label":"Changes"});outcome=o("section",{class:"outcome","aria-label":"Predicted step times","aria-live":"polite"});plots=[];answer=null;asking=new AbortController;later=0;settings(){
return lt(this.context.store.params.set)}rank(){let{rank:t}=this.context.store.params;return t===void 0?"":this.context.capture?.ranks[Number(t)]??""}ask(){this.
asking.abort(),this.asking=new AbortController;let{signal:t}=this.asking;M("whatif",{c:this.context.store.params.c,set:Gt(this.settings())},t).then(e=>{let n=this.
answer===null;this.answer=e,n&&this.controls(),this.show()}).catch(e=>{if(!t.aborted)throw e})}set(t,e){clearTimeout(this.later),this.later=window.setTimeout(()=>{
let n=this.context.session.exported?new Map:this.settings();this.context.store.set({set:tt(Vt(n,t,e))})},this.context.session.exported?0:60)}controls(){let t=this.
answer,{capture:e,session:n,store:s}=this.context,r=e?.ranks??[],i=o("select",{"aria-label":"Of rank",on:{change:()=>s.set({rank:i.value})}},o("option",{value:""},
"of all ranks"),...r.map((p,u)=>o("option",{value:String(u),disabled:!this.answered(p+".")},"of "+p)));i.value=s.params.rank??"";let l=t.parts.filter(p=>p.id.startsWith(
"class:")).sort((p,u)=>u.share-p.share),h=(e?.fixes??[]).filter(p=>ye(p,n));y(this.panel,o("h2",null,"Changes"),h.length>0&&o("h3",null,"What findings suggest"),
...h.map(p=>o("button",{class:"fix",data:{fix:et(p)},"aria-pressed":"false",title:p.finding,on:{click:()=>this.fix(p)}},o("b",null,xe(p))," ",p.finding)),r.length>
1&&o("p",null,i),...t.parts.filter(p=>!p.id.startsWith("class:")).map(p=>this.slider(p)),o("h3",null,"Kernels by class"),...l.map(p=>this.slider(p)),o("p",{class:"\
actions"},o("button",{class:"button",on:{click:()=>s.set({set:null})}},"Reset")),n.exported&&o("p",{class:"note"},"This page answers one change at a time, in st\
eps of a quarter; stepscope view answers all.")),this.place()}fix(t){let{store:e,capture:n}=this.context,s=et(t),r=e.params.set!==s;e.set({set:r?s:null,rank:r?ke(
t,n?.ranks??[]):null})}answered(t){return this.context.session.exported?.whatif.some(e=>e.startsWith(t))??!0}slider(t){let[e,n]=fa[t.id]??[t.id.slice(6).replaceAll(
"_"," "),"time of kernels of this class"],s=this.context.session.exported?.25:ba,r=o("input",{type:"range",min:"0",max:String(this.context.session.exported?1:ga),
step:String(s),id:"set-"+t.id,data:{part:t.id},disabled:!this.answered(V(this.rank(),t.id)+"=")});r.addEventListener("input",()=>{this.say(t.id,r.value),this.set(
V(this.rank(),t.id),r.value)});let i=t.peers&&o("button",{class:"peers choice-one",data:{peers:t.id},title:"like the median of the other ranks",on:{click:()=>this.
set(V(this.rank(),t.id),this.settings().get(V(this.rank(),t.id))==="peers"?"1":"peers")}},"like peers");return o("div",{class:"slider"},o("label",{for:"set-"+t.
id,title:n},e),o("span",{class:"path",title:"of the critical path"},t.share>=5e-4?_(t.share):""),o("output",{for:"set-"+t.id,data:{said:t.id}}),t.id==="work"?o(
"span",{class:"none"}):r,i)}say(t,e){let n=this.panel.querySelector(`[data-said="${CSS.escape(t)}"]`);n&&y(n,ht(e))}place(){let t=this.settings(),e=this.rank(),
n=tt(t);for(let s of this.panel.querySelectorAll("[data-fix]"))s.ariaPressed=String(s.dataset.fix===n);for(let s of this.panel.querySelectorAll("[data-part]")){
let r=s.dataset.part,i=t.get(V(e,r))??"1";(document.activeElement!==s||i==="1")&&(s.value=i==="peers"?"1":i),this.say(r,i);let l=this.panel.querySelector(`[data\
-peers="${CSS.escape(r)}"]`);l&&(l.disabled=e===""||!this.answered(V(e,r)+"=peers"),l.ariaPressed=String(i==="peers"))}}show(){let t=this.answer,{store:e,capture:n}=this.
context;for(let h of this.plots.splice(0))h.drop();let s=[...this.settings()],r=s.map(([h,p])=>o("button",{class:"chip",title:"reset",on:{click:()=>e.set({set:tt(
Vt(this.settings(),h,"1"))})}},h," ",o("b",null,ht(p))," ×"));if(!t.known){y(this.outcome,o("h2",null,"Predicted step times"),o("p",{class:"caveat"},o("strong",
null,"Unknown: "),t.why+"."),o("p",{class:"note"},"There is no prediction if the recorded steps cannot be replayed."));return}let i=t.lengths.length>1,l=h=>i?",\
 "+h.map(p=>n?.ranks[p]??"#"+p).join(" "):"";y(this.outcome,o("h2",null,s.length===0?"Steps as recorded: move a slider":"Predicted step times if ",...r),s.length>
0&&o("p",null,o("a",{href:L(A(e.params,{tab:"timeline",set:e.params.set}))},"Show in the timeline where each step would end")),o("div",{class:"cards"},...t.rows.
map(h=>va(h,l(h.ranks)))),...t.lengths.flatMap(h=>h.steps.length===0?[]:[o("figure",null,o("figcaption",null,o("span",null,"Length of each step"+l(h.ranks))),o(
"canvas",{tabindex:"0",role:"img","aria-label":"Lengths of steps, as recorded and as predicted"}),o("p",{class:"keys"},D("--idle","as recorded"),D("--share","as\
 predicted")))]),o("p",{class:"note"},`The steps are replayed from the recorded durations and dependencies. Without changes, the replay differs from the recordi\
ng by ${he(t.off_median)} (90th percentile ${he(t.off_p90)}). Unexplained gaps are ${he(t.unexplained)} of the critical path; they stay, as do batches, schedule\
s and device clocks.`),t.command!==""&&o("p",{class:"note"},"On the command line: ",o("code",{class:"command"},t.command)));for(let[h,p]of this.outcome.querySelectorAll(
"canvas").entries()){let u=new ms(p,t.lengths.filter(d=>d.steps.length>0)[h]);this.plots.push(u),u.draw()}}update(t,e){this.answer&&(t.rank!==e.rank?this.controls():
this.place(),t.set!==e.set&&this.ask())}restyle(){for(let t of this.plots)t.draw()}close(){clearTimeout(this.later),this.asking.abort();for(let t of this.plots.
splice(0))t.drop();P()}};function va(a,t){let e=a.without_ns/Math.max(a.step_ns,1)-1,n=Math.abs(e)<5e-4;return o("div",{class:"card"},o("span",{class:"name"},`${a.
kind} step${t}`),o("b",null,v(a.step_ns),!n&&" → ",!n&&v(a.without_ns)),o("span",{class:n?"soft":e<0?"better":"worse"},n?"unchanged":(e>0?"+":"")+_(e)),!n&&o(
"span",{class:"soft"},`${v(a.without_low_ns)} to ${v(a.without_high_ns)} (95 %, ${a.steps} steps)`),a.tokens_per_s>0&&o("span",{class:"soft"},`${Ur(a.tokens_per_s)}${n?
"":" → "+Ur(a.without_tokens_per_s)} output tokens/s`))}function Ur(a){return T(String(Math.round(a)))}var ms=class extends Y{constructor(e,n){super(e,260);this.
lengths=n;let s=r=>{let i=this.area(),l=Math.floor((r.offsetX-i.x)/i.w*n.steps.length);this.point(l>=0&&l<n.steps.length?l:-1,r.offsetX,r.offsetY)};e.addEventListener(
"pointermove",s),e.addEventListener("pointerleave",()=>this.point(-1)),e.addEventListener("blur",()=>this.point(-1)),e.addEventListener("keydown",r=>{let i=r.key===
"ArrowRight"?1:r.key==="ArrowLeft"?-1:0;i!==0&&(this.point(Math.min(Math.max(this.at+i,0),n.steps.length-1)),r.preventDefault())})}lengths;at=-1;point(e,n,s){if(this.
at=e,this.again(),e<0)return P();let r=this.lengths,i=this.area(),l=r.would[e]/r.was[e]-1;O(this.canvas,n??i.x+(e+.5)/r.steps.length*i.w,s??20,{title:"step "+r.
steps[e],rows:[["was",v(r.was[e])],["would be",v(r.would[e])],["change",(l>0?"+":"")+_(l)]]})}paint(e){let{ctx:n,area:s,color:r}=e,i=this.lengths,l=i.steps.length,
h=1;for(let f=0;f<l;f++)h=Math.max(h,i.was[f],i.would[f]);h*=1.05,this.yAxis(e,h,v);let p=s.w/l,u=p>=5?1:0,d=(f,g,x)=>{n.fillStyle=r(x);for(let b=0;b<l;b++){let w=f[b]/
h*s.h;n.fillRect(s.x+b*p+g,s.y+s.h-w,Math.max(p-u-2*g,.6),w)}};d(i.was,0,"idle"),d(i.would,p>=12?p*.18:0,"share"),n.fillStyle=r("soft"),n.textAlign="center",n.textBaseline=
"top";let m=Q(l,Math.max(s.w/70,2)),c=Math.max(Math.round(m.length>1?m[1]:1),1);for(let f=0;f<l;f++)i.steps[f]%c===0&&n.fillText(String(i.steps[f]),s.x+(f+.5)*p,
s.y+s.h+6)}mark({ctx:e,area:n,color:s}){if(this.at<0)return;let r=n.w/this.lengths.steps.length;e.strokeStyle=s("mark"),e.strokeRect(n.x+this.at*r+.5,n.y+.5,Math.
max(r-1,1),n.h-1)}},jr={id:"whatif",title:"What if",needs:"capture",open:a=>new cs(a)};function Wr(a){return L(Wt(a,{c:null,theme:null}))}function Gr(a,t){let e=(t.c??"").split(":")[0],n=a.server!==""&&e!==""?e+":"+a.server:t.c??null;return Wt(_t(
a.address),{c:n,theme:t.theme??null})}var fs=class{constructor(t){this.key=t}key;read(){try{let t=JSON.parse(localStorage.getItem(this.key)??"[]");return Array.isArray(t)?t.filter(e=>typeof e.text==
"string"&&String(e.address).startsWith("#")):[]}catch{return[]}}write(t){localStorage.setItem(this.key,JSON.stringify(t))}},gn=class{constructor(t,e,n){this.store=
t;this.capture=e;this.exported=n;let s=o("form",{class:"notes-form",on:{submit:r=>(r.preventDefault(),void this.add())}},this.input,this.save);this.dialog.append(
o("div",{class:"notes-head"},o("h2",null,"Notes"),o("button",{class:"quiet","aria-label":"Close the notes",on:{click:()=>this.dialog.close()}},"✕")),s,this.list,
this.said),s.hidden=n}store;capture;exported;button=o("button",{class:"quiet notes-button",title:"Notes and saved places (key: b)",on:{click:()=>{this.open()}}},
"Notes");dialog=o("dialog",{class:"notes","aria-label":"Notes"});input=o("input",{type:"text",maxlength:"500","aria-label":"Note on this view",placeholder:"A no\
te on this view"});list=o("ol",null);said=o("p",{class:"notes-said",role:"status"});save=o("button",{class:"button"},"Save this view");answer=null;get local(){let t=this.
capture();return new fs(`stepscope-notes ${t?.title} ${t?.span_ns} ${t?.ranks.length}`)}async open(){this.capture()!==void 0&&(this.dialog.isConnected||document.
body.append(this.dialog),this.say(""),await this.answering(M("notes",{c:this.store.params.c})),this.dialog.open||this.dialog.showModal(),this.exported||this.input.
focus())}async answering(t){try{this.answer=await t}catch(e){if(!(e instanceof N))throw e;return this.say(e.message),!1}return this.answer.run===""&&!this.exported&&
(this.answer.notes=this.local.read()),this.show(this.answer),!0}show(t){this.save.disabled=this.input.disabled=t.why!=="",y(this.list,...t.notes.map(e=>{let n=_t(
e.address),s=[n.tab??"summary",n.step!==void 0&&"step "+n.step,e.server].filter(Boolean).join(", ");return o("li",null,o("a",{href:L(Gr(e,this.store.params)),on:{
click:()=>this.dialog.close()}},e.text),o("span",{class:"tl-soft"},` ${s}, ${new Date(e.made_ms).toISOString().slice(0,16).replace("T"," ")} UTC`),!this.exported&&
t.why===""&&o("button",{class:"quiet",title:"Remove the note","aria-label":"Remove the note "+e.text,on:{click:()=>{this.remove(e)}}},"✕"))}),t.notes.length===
0&&o("li",{class:"tl-soft"},"There are no notes.")),this.say(this.exported?"These are the notes of the run when the page was exported.":t.why!==""?t.why:t.run!==
""?`Kept with run ${t.run}, in ${t.path}.`:"This capture is not a stored run: its notes stay in this browser, for this address of the viewer.")}say(t){this.said.
textContent=t}async add(){let t=this.input.value.trim(),{params:e}=this.store;if(t===""||this.answer===null)return this.input.focus();let n=Wr(e);if(this.answer.
run!==""){if(!await this.answering(St("notes/change",{add:{text:t,address:n}},{c:e.c})))return}else this.keep([...this.local.read(),{id:String(Date.now()),text:t,
address:n,server:(e.c??"").split(":")[1]??"",made_ms:Date.now()}]);this.input.value=""}async remove(t){this.answer?.run!==""?await this.answering(St("notes/chan\
ge",{remove:t.id},{c:this.store.params.c})):this.keep(this.local.read().filter(e=>e.id!==t.id))}keep(t){try{this.local.write(t)}catch{return this.say("This brow\
ser keeps nothing for this page.")}this.answer.notes=t,this.show(this.answer)}};var ct=class extends ot{constructor(e,n,s,r,i=!0){super(e,n,{kinds:[],grid:{cols:s.running.length}},r,64,i?28:6);this.bench=s;this.axis=i}bench;axis;fine=null;at(e,n){
return this.x(e/this.bench.bin_ns,n)}sight(){return{from:this.view.lo*this.bench.bin_ns,to:this.view.hi*this.bench.bin_ns}}whenClicked(e){let n=NaN;this.canvas.
addEventListener("pointerdown",s=>n=s.offsetX),this.canvas.addEventListener("click",s=>{Math.abs(s.offsetX-n)<=8&&e(s.offsetX,s.offsetY)})}when(e,n){return this.
bench.at[e]+(this.bench.at_once?Math.max(n[e],0):0)}shade({ctx:e,area:n,color:s}){for(let[r,i,l]of[[this.bench.steady,"info",.1],[this.bench.profiled,"k3",.15]]){
e.fillStyle=s(i),e.globalAlpha=l;for(let h of r){let p=Math.max(this.at(h.from,n),n.x),u=Math.min(this.at(h.to,n),n.x+n.w);u>p&&e.fillRect(p,n.y,u-p,n.h)}e.globalAlpha=
1}}xAxis({ctx:e,area:n,color:s}){if(!this.axis)return;let r=this.bench.bin_ns,i=this.view.lo*r,l=this.view.hi*r,h=Q(l-i,Math.max(n.w/110,2)),p=h.length>1?h[1]:l-
i||1;e.fillStyle=s("soft"),e.textBaseline="top",e.textAlign="center";for(let u=Math.ceil(i/p)*p;u<=l;u+=p)e.fillText(Cs(Math.round(u),p),Math.min(this.at(u,n),n.
x+n.w-14),n.y+n.h+5)}inside({ctx:e,area:n},s){e.save(),e.beginPath(),e.rect(n.x,n.y,n.w,n.h),e.clip(),s(),e.restore()}bins(){return this.fine??this.bench}stairs({
ctx:e,area:n,color:s},r,i,l,h){let p=this.bins(),u=m=>n.y+n.h*(1-m/i),d=m=>this.at(p.from_ns+m*p.bin_ns,n);e.beginPath(),r.forEach((m,c)=>{e.lineTo(d(c),u(m)),e.
lineTo(d(c+1),u(m))}),e.strokeStyle=e.fillStyle=s(l),e.lineWidth=1.5,e.stroke(),h&&(e.lineTo(d(r.length),n.y+n.h),e.lineTo(d(0),n.y+n.h),e.globalAlpha=.18,e.fill(),
e.globalAlpha=1)}top(e){let n=this.bins(),s=i=>(i*this.bench.bin_ns-n.from_ns)/n.bin_ns,r=0;for(let i=Math.max(Math.floor(s(this.view.lo)),0);i<Math.min(Math.ceil(
s(this.view.hi)),e.length);i++)r=Math.max(r,e[i]);return r*1.06||1}tip(e){let n=this.bench;if(e<0||e>=n.running.length)return null;let s=[],r=l=>l>=e*n.bin_ns&&
l<(e+1)*n.bin_ns,i=Vr(n.at,r);i.length&&s.push(["requests sent",String(i.length)]);for(let[l,h]of[["TTFT",n.ttft],["E2E",n.e2e]]){let p=h.reduce((u,d,m)=>d>u&&r(
this.when(m,h))?d:u,-1);p>=0&&s.push(["longest "+l,v(p)])}return n.embedding||s.push([xt(n)?"output tokens in the busiest second":"output tokens in the last sec\
ond",gs(n.busiest[e])]),!n.embedding&&xt(n)&&s.push(["output tokens/s, mean",gs(n.tokens[e]/(n.bin_ns/1e9))]),s.push(["under way at most",T(String(n.most[e]))],
["under way, mean",n.running[e].toFixed(1)]),n.embedding||s.push(["in decode, mean",n.decode[e].toFixed(1)]),s.push(["ended",String(n.ended[e])]),n.failed[e]&&s.
push(["failed",String(n.failed[e])]),{title:`${e?v(e*n.bin_ns):"0"} – ${v((e+1)*n.bin_ns)}`,rows:s}}};function Vr(a,t){let e=[];return a.forEach((n,s)=>t(n,s)&&
e.push(s)),e}function gs(a){return a===0?"0":a>=99.95?T(String(Math.round(a))):a.toFixed(1)}function wa(a,t){let e=[];for(let n=Math.pow(10,Math.floor(Math.log10(
a)));n<=t;n*=10)for(let s of[1,2,5])s*n>=a&&s*n<=t&&e.push(s*n);return e.length>7?e.filter(n=>Math.abs(Math.log10(n)%1)<1e-6||Math.abs(Math.log10(n)%1-1)<1e-6):
e}var bn=[["ttft","k1",1],["e2e","k0",2]],vn=class extends ct{log=!0;chosen=-1;range(){let t=1/0,e=0;for(let[n]of bn)for(let s of this.shown(n))this.bench[n][s]>
0&&(t=Math.min(t,this.bench[n][s]),e=Math.max(e,this.bench[n][s]));return e===0&&(t=1e6,e=1e9),e*=1.1,t*=.9,this.log&&e/t<10&&(t=e/10),[t,e]}y(t,[e,n],s){return s.
y+s.h*(this.log?1-Math.log(t/e)/Math.log(n/e):1-t/n)}shown(t){let e=this.bench[t],{from:n,to:s}=this.sight();return Vr(e,(r,i)=>this.when(i,e)>=n&&this.when(i,e)<=
s)}near(t,e){let n=this.area(),s=this.range(),r=-1,i=64;for(let[l]of bn){let h=this.bench[l];for(let p of this.shown(l)){let u=h[p]>0?this.y(h[p],s,n):l==="e2e"&&
this.failed(p)?n.y+n.h-5:NaN,d=(this.at(this.when(p,h),n)-t)**2+(u-e)**2;d<=i&&(i=d,r=p)}}return r}failed(t){return this.bench.ttft[t]<0&&this.bench.e2e[t]<0}paint(t){
let{ctx:e,area:n,color:s}=t,r=this.bench,i=this.range(),[l,h]=i;if(this.shade(t),this.log){e.textAlign="right",e.textBaseline="middle";for(let p of wa(l,h))e.fillStyle=
s("line"),e.fillRect(n.x,Math.round(this.y(p,i,n)),n.w,1),e.fillStyle=s("soft"),e.fillText(v(p),n.x-6,this.y(p,i,n))}else this.yAxis(t,h,v);this.inside(t,()=>{for(let[
p,u,d]of bn){let m=r.limits[p];m&&(!this.log||m>l)&&Kr(t,this.y(m,i,n),u),e.globalAlpha=.75;for(let c of this.shown(p))r[p][c]>0&&(e.fillStyle=s(r.touched[c]&d?
"k4":u),e.beginPath(),e.arc(this.at(this.when(c,r[p]),n),this.y(r[p][c],i,n),2,0,7),e.fill());e.globalAlpha=1}e.fillStyle=s("high");for(let p of this.shown("e2e"))
this.failed(p)&&e.fillRect(this.at(r.at[p],n)-1,n.y+n.h-10,2,10)}),this.xAxis(t)}mark(t){super.mark(t);let{ctx:e,area:n,color:s}=t,r=this.chosen,i=this.bench,l=this.
range();r<0||this.inside(t,()=>{e.strokeStyle=s("mark"),e.lineWidth=2;for(let[h]of bn)i[h][r]>0&&(e.beginPath(),e.arc(this.at(this.when(r,i[h]),n),this.y(i[h][r],
l,n),5,0,7),e.stroke())})}};function Kr({ctx:a,area:t,color:e},n,s){a.strokeStyle=e(s),a.lineWidth=1.5,a.setLineDash([6,4]),a.beginPath(),a.moveTo(t.x,n),a.lineTo(
t.x+t.w,n),a.stroke(),a.setLineDash([])}function xt(a){return a.bin_ns>=1e9}var wn=class extends ct{paint(t){let e=this.bins(),n=this.fine!==null,s=this.top(n?e.
tokens:e.busiest);this.shade(t),this.yAxis(t,s,gs),this.inside(t,()=>{if(n)return this.stairs(t,e.tokens,s,"compute",!0);this.stairs(t,e.busiest,s,"compute",!xt(
e)),xt(e)&&this.stairs(t,e.tokens.map(r=>r/(e.bin_ns/1e9)),s,"k1",!0)}),this.xAxis(t)}title(){let t=v(this.bins().bin_ns);return this.fine?`Output tokens in eac\
h ${t}`:xt(this.bench)?`Output tokens in the seconds of each ${t}`:"Output tokens in the last second"}},xn=class extends ct{queue=[];paint(t){let{ctx:e,area:n,color:s}=t,
r=this.bench,i=this.bins(),{from:l,to:h}=this.sight(),p=this.queue.filter(d=>d.at>=l&&d.at<=h),u=Math.max(this.top(i.most),...p.map(d=>d.queued*1.06));this.shade(
t),this.yAxis(t,u,d=>T(String(d))),this.inside(t,()=>{this.stairs(t,i.most,u,"host",!0),r.embedding||this.stairs(t,i.decode,u,"k0",!1),this.queue.length>0&&this.
queued(t,u),e.fillStyle=s("high"),i.failed.forEach((d,m)=>{let c=this.at(i.from_ns+m*i.bin_ns,n);d&&e.fillRect(c,n.y+n.h-10,Math.max(this.at(i.from_ns+(m+1)*i.bin_ns,
n)-c,2),10)})}),this.xAxis(t)}queued({ctx:t,area:e,color:n},s){t.beginPath();for(let r of this.queue)t.lineTo(this.at(r.at,e),e.y+e.h*(1-r.queued/s));t.strokeStyle=
n("k3"),t.lineWidth=1.5,t.stroke()}},yn=class extends Y{constructor(e,n,s){super(e,n,{left:64,bottom:26});this.spread=s;this.nines=Math.max(Math.log10(s.n),.31),
this.canvas.addEventListener("pointermove",r=>{let i=this.area(),l=1-Math.pow(10,-(r.offsetX-i.x)/i.w*this.nines),h=0;s.shares.forEach((p,u)=>p<=l&&(h=u)),this.
point(h,r.offsetX,r.offsetY)}),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.
addEventListener("keydown",r=>{let i=s.shares.length-1,l=r.shiftKey?10:1;if(r.key==="ArrowRight")this.point(Math.min(this.i+l,i));else if(r.key==="ArrowLeft")this.
point(Math.max(this.i-l,0));else if(r.key==="Home")this.point(0);else if(r.key==="End")this.point(i);else if(r.key==="Escape")this.point(-1);else return;r.preventDefault()})}spread;other=null;i=-1;nines;x(e,n){
return n.x+n.w*Math.min(-Math.log10(Math.max(1-e,1e-12))/this.nines,1)}point(e,n,s){if(this.i=e,this.again(),e<0)return P();let r=this.spread,i=r.shares[e],l=this.
other,h=[["percentile",i===1?"longest":"p"+Number((i*100).toPrecision(6))],["value",v(r.values[e])]];l&&h.push(["before",v(xa(l,i))]),O(this.canvas,n??this.x(r.
shares[e],this.area()),s??20,{title:r.title,rows:h})}paint(e){let{ctx:n,area:s,color:r}=e,i=this.spread,l=this.top(),h=u=>s.y+s.h*(1-u/l);this.yAxis(e,l,v),n.textBaseline=
"top";let p=-1/0;for(let[u,d]of[[0,"min"],[.5,"p50"],[.9,"p90"],[.99,"p99"],[.999,"p99.9"],[.9999,"p99.99"],[.99999,"p99.999"]]){if(-Math.log10(1-u)>this.nines)
break;let m=this.x(u,s),c=n.measureText(d).width,f=Math.min(m-c/2,s.x+s.w+8-c);n.fillStyle=r("line"),n.fillRect(Math.round(m),s.y,1,s.h),!(f<p+4)&&(n.fillStyle=
r("soft"),n.textAlign="left",n.fillText(d,f,s.y+s.h+6),p=f+c)}i.limit>0&&i.limit<l&&Kr(e,h(i.limit),"high");for(let[u,d]of[[this.other,"k4"],[i,"k0"]])u&&(n.beginPath(),
u.values.forEach((m,c)=>n.lineTo(this.x(u.shares[c],s),h(m))),n.strokeStyle=r(d),n.lineWidth=2,n.stroke())}mark({ctx:e,area:n,color:s}){if(this.i<0)return;let r=this.
spread,i=this.top();e.fillStyle=s("mark"),e.beginPath(),e.arc(this.x(r.shares[this.i],n),n.y+n.h*(1-r.values[this.i]/i),3.5,0,7),e.fill()}top(){return Math.max(
this.spread.values.at(-1)??0,this.other?.values.at(-1)??0)*1.06||1}};function xa(a,t){let e=a.shares.findIndex(n=>n>=t);return a.values[e<0?a.values.length-1:e]}function bs(a){return o("div",null,o("div",{class:"scroll",role:"region",tabindex:"0","aria-label":a.title+", table"},o("table",null,o("thead",null,o("tr",null,
...a.cols.map(t=>t.name===""?o("td"):o("th",{scope:"col",class:t.right?"r":void 0,title:t.help},t.name)))),o("tbody",null,...a.rows.map(t=>o("tr",null,...t.cells.
map(ya)))))),a.omitted&&o("p",{class:"soft"},a.omitted))}function ya(a){return o("td",{class:a.right?"r":a.wrap?"w":a.short?"n":void 0},a.code?o("code",{title:a.
full},a.text):a.text)}function Xr(a,t){let e=0,n=a.length;for(;e<n;){let s=e+n>>1;a[s]<t?e=s+1:n=s}return e}function It(a){let t=a.dp_rank>=0?"DP"+String(a.dp_rank).padStart(2,"0"):"";
return[a.server,t].filter(e=>e!=="").join(" ")||"steps"}var zt=18,kn=class extends ct{constructor(e,n,s,r){super(e,r.lanes.length*zt+12,n,s,!1);this.steps=r;this.
whenClicked((i,l)=>{let h=this.stepAt(i,l);h&&this.whenChosen(h)})}steps;lit=null;whenChosen=()=>{};light(e){this.lit=e&&this.steps.lanes.map((n,s)=>new Set(e.filter(
r=>r.lane===s).map(r=>r.step))),this.draw()}rows(){return this.steps.lanes.length}rowAt(e){return Math.min(Math.max(Math.floor((e-this.area().y)/zt),0),this.rows()-
1)}stepAt(e,n){let s=this.area(),r=this.rowAt(n),i=this.steps.lanes[r];if(!i||n<s.y||n>s.y+s.h)return null;let l=this.colAt(e)*this.bench.bin_ns,h=1.5*((this.view.
hi-this.view.lo)*this.bench.bin_ns)/s.w,p=Xr(i.to,l-h);return p<i.to.length&&i.from[p]<=l+h?{lane:r,step:p}:null}paint(e){let{ctx:n,area:s,color:r}=e,i=this.steps.
kinds.map(p=>r(Tt(p)));this.shade(e);let{from:l,to:h}=this.sight();n.textAlign="right",n.textBaseline="middle",this.steps.lanes.forEach((p,u)=>{let d=s.y+u*zt;n.
fillStyle=r("soft"),n.fillText(ka(n,It(p),s.x-8),s.x-6,d+zt/2),n.fillStyle=r("line"),n.fillRect(s.x,d+zt-1,s.w,1),this.inside(e,()=>{let m=-1/0;for(let c=Xr(p.to,
l);c<p.from.length&&p.from[c]<=h;c++){let f=this.lit===null||this.lit[u].has(c),g=this.at(p.from[c],s),x=Math.max(this.at(p.to[c],s),g+.5);x<m+.5&&!f||(n.globalAlpha=
f?1:.2,n.fillStyle=i[p.kind[c]],n.fillRect(g,d+3,x-g-(x-g>3?1:0),zt-6),m=Math.max(m,x))}n.globalAlpha=1})}),this.xAxis(e)}point(e,n,s,r){super.point(e,n,s,r),this.
canvas.style.cursor=s!==void 0&&r!==void 0&&this.stepAt(s,r)?"pointer":""}tipAt(e,n){let s=this.stepAt(e,n);if(!s)return null;let r=this.steps.lanes[s.lane];return{
title:this.steps.names[r.name[s.step]],rows:[...this.rows()>1?[["of",It(r)]]:[],["step",`${s.step}, ${this.steps.kinds[r.kind[s.step]]}`],["took",v(r.to[s.step]-
r.from[s.step])],["from",v(r.from[s.step])],["requests of this load",T(String(r.batch[s.step]))]]}}};function ka(a,t,e){if(a.measureText(t).width<=e)return t;for(;t.
length>1&&a.measureText("…"+t).width>e;)t=t.slice(1);return"…"+t}function Ma(a){return Math.min(Math.max(a*9,40),360)}var Mn=class extends ct{constructor(e,n,s,r){
super(e,Ma(r.rows)+34,n,s);this.requests=r;this.whenClicked((i,l)=>{let h=this.barAt(i,l);h>=0&&this.whenChosen(this.requests.index[h])})}requests;marked=-1;others=new Set;whenChosen=()=>{};show(e){
this.requests=e,this.draw()}light(e,n){this.marked=e,this.others=new Set(n),this.draw()}y(e,n){let s=n.h/Math.max(this.requests.rows,1);return[n.y+e*s,Math.max(
s-(s>3?1:0),.7)]}barAt(e,n){let s=this.area(),r=this.colAt(e)*this.bench.bin_ns,i=this.requests,l=2*((this.view.hi-this.view.lo)*this.bench.bin_ns)/s.w,h=Math.floor(
(n-s.y)/s.h*i.rows),p=Math.max(Math.ceil(2*i.rows/s.h)-1,0),u=-1;for(let d=0;d<i.index.length;d++)Math.abs(i.row[d]-h)>p||i.sent[d]>r+l||i.done[d]<r-l||(u<0||Math.
abs(i.row[d]-h)<Math.abs(i.row[u]-h))&&(u=d);return u}paint(e){let{ctx:n,area:s,color:r}=e,i=this.requests;this.shade(e),n.fillStyle=r("soft"),n.textAlign="righ\
t",n.textBaseline="top",n.fillText(T(String(i.rows)),s.x-6,s.y),n.fillText("at once",s.x-6,s.y+13);let l={wait:r("k1"),decode:r("k0"),end:r("k4"),failed:r("high")};
this.inside(e,()=>{for(let h=0;h<i.index.length;h++){let[p,u]=this.y(i.row[h],s),d=i.index[h]===this.marked;n.globalAlpha=this.marked<0&&this.others.size===0||d||
this.others.has(i.index[h])?i.touched[h]&&!d?.75:1:.18;let m=(g,x,b,w=1)=>{let k=Math.max(this.at(g,s),s.x-1),R=Math.min(this.at(x,s),s.x+s.w+1);R<s.x||k>s.x+s.
w||x<=g||(n.fillStyle=b,n.fillRect(k,p+u*(1-w)/2,Math.max(R-k,.5),u*w))};if(i.failed[h]){m(i.sent[h],i.done[h],l.failed);continue}let c=i.first[h]<0?i.done[h]:i.
first[h],f=Math.max(i.last[h],c);m(i.sent[h],c,l.wait,.55),m(c,f,l.decode),m(f,i.done[h],l.end,.3)}n.globalAlpha=1}),this.xAxis(e)}mark(e){super.mark(e);let{ctx:n,
area:s,color:r}=e,i=this.requests.index.indexOf(this.marked);if(i<0)return;let[l,h]=this.y(this.requests.row[i],s);this.inside(e,()=>{n.strokeStyle=r("mark"),n.
lineWidth=1.5;let p=this.at(this.requests.sent[i],s),u=this.at(this.requests.done[i],s);n.strokeRect(p-1,l-1,Math.max(u-p+2,3),h+2)})}point(e,n,s,r){super.point(
e,n,s,r),this.canvas.style.cursor=s!==void 0&&r!==void 0&&this.barAt(s,r)>=0?"pointer":""}tipAt(e,n){let s=this.barAt(e,n),r=this.requests;if(s<0)return null;let i=[
["sent at",v(r.sent[s])]];return r.failed[s]?i.push(["failed after",v(r.done[s]-r.sent[s])]):(r.first[s]>=0&&i.push(["TTFT",v(r.first[s]-r.sent[s])]),i.push(["E\
2E",v(r.done[s]-r.sent[s])])),r.touched[s]&&i.push(["affected","by the captured window"]),{title:"request "+r.index[s],rows:i}}};function Yr(a){return{queue:"idle",prefill:"k1",decode:"k0",wait:"wait",reply:"k2",unknown:"unknown"}[a]}function Jr(a){return["queue","prefill","wait","decode",
"reply","unknown"].map(e=>({of:e,ns:a.filter(n=>n.of===e).reduce((n,s)=>n+s.ns,0)})).filter(e=>e.ns>0)}var Qr={queue:"queue",prefill:"prefill",wait:"wait",decode:"\
decode",reply:"reply",unknown:"not recorded"};function Sn(a,t=!1){let e=a.reduce((r,i)=>r+i.ns,0)||1,n=o("div",{class:"parts","aria-hidden":"true"},...a.map(r=>{
let i=o("i",{title:`${r.name} ${v(r.ns)}`});return i.style.width=`${100*r.ns/e}%`,i.style.background=`var(--${Yr(r.of)})`,i})),s=r=>{let i=o("i");return i.style.
background=`var(--${Yr(r)})`,i};return t?o("div",null,n,o("p",{class:"keys"},...Jr(a).map(r=>o("span",{class:"key"},s(r.of),Qr[r.of]+" ",o("b",null,v(r.ns)))))):
o("div",null,n,o("p",{class:"keys sums"},...Jr(a).map(r=>o("span",{class:"key"},s(r.of),Qr[r.of]+" ",o("b",null,v(r.ns))))),o("table",{class:"split"},o("tbody",
null,...[...a].sort((r,i)=>i.ns-r.ns).map(r=>o("tr",null,o("th",{scope:"row"},s(r.of),r.name,r.more&&o("small",null,r.more)),o("td",null,v(r.ns)),o("td",null,_(
r.ns/e)))))))}function Zr(a,t,e){let n=a.moments.find(r=>r.name==="sent")?.at??a.moments[0]?.at??0;return o("aside",{class:"panel","aria-label":"Request "+a.index},
o("header",null,o("h2",null,"Request ",String(a.index),a.turn>0&&`, turn ${a.turn+1}`),o("button",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:e.
close}},"×")),a.id!==""&&o("p",{class:"id"},o("code",null,a.id)),a.failure!==""&&o("p",{class:"caveat"},"failed: "+a.failure+(a.error?": "+a.error:"")),a.ttft&&
Sa("TTFT",a.ttft),a.why!==""&&o("p",{class:"soft"},a.why),_a(a,t,e),a.gaps.length>0&&o("section",null,o("h3",null,"Longest waits for a token"),...a.gaps.slice(0,
4).map(r=>o("div",{class:"gap"},o("p",null,o("b",null,v(r.ns)),` until event ${r.event}`),Sn(r.parts,!0)))),a.with.length>0&&o("section",null,o("h3",null,"Reque\
sts in the same steps"),o("p",{class:"chips"},...a.with.map(r=>o("button",{class:"chip",title:r.id+`: ${r.steps} steps together`,on:{click:()=>e.request(r.index)}},
String(r.index),o("small",null,"×"+r.steps))))),o("section",null,o("h3",null,"Moments"),o("dl",null,...a.moments.flatMap(r=>[o("dt",null,r.name),o("dd",null,r.
name==="sent"?v(r.at)+" into the load":r.at===n?"0":(r.at<n?"−":"+")+v(Math.abs(r.at-n)))]))),o("section",null,o("h3",null,"Facts"),o("dl",null,...a.facts.flatMap(
([r,i])=>[o("dt",null,r),o("dd",null,i)]))))}function Sa(a,t){return o("section",null,o("h3",null,a+" ",o("b",null,v(t.ns)),t.place&&o("span",{class:"soft"}," o\
n "+t.place)),Sn(t.parts))}function _a(a,t,e){if(!t||a.steps.length===0)return null;let n=[...new Set(a.steps.map(s=>s.lane))];return o("section",null,o("h3",null,
"Steps"),...n.map(s=>{let r=a.steps.filter(h=>h.lane===s).map(h=>h.step),i=t.lanes[s],l=e.timeline(s,i.from[r[0]],i.to[r[r.length-1]]);return o("p",null,`${It(i)}\
: ${r.length} of steps ${r[0]}–${r[r.length-1]} `,l&&o("a",{href:l},"show in the timeline"))}))}var Ta=2e5,Ra=120,_n=class{constructor(t,e,n,s,r){this.store=t;this.run=e;this.requests=n;let i=e.plots;this.view=new Mt(i.running.length,Ta/i.bin_ns);let l=b=>o(
"canvas",{tabindex:"0",role:"img","aria-label":b}),h=(b,w,k,...R)=>o("figure",null,o("figcaption",null,typeof b=="string"?o("span",null,b):b,o("span",{class:"ke\
ys"},...w.map(([S,$])=>ti(S,$)),...R)),k),p=[...i.steady.length?[["info","steady"]]:[],...i.profiled.length?[["k3","captured window"]]:[]],u=o("input",{type:"ch\
eckbox"});u.checked=!0,u.addEventListener("change",()=>{this.latency.log=u.checked,this.latency.draw()});let d=l(`Latency of requests by ${i.at_once?"end":"send"}\
 time`);this.latency=new vn(d,220,i,this.view),this.latency.whenClicked((b,w)=>{let k=this.latency.near(b,w);this.choose(k<0?null:i.index[k])});let m=new xn(l("\
Requests in progress over time"),100,i,this.view,!1);m.queue=e.server,this.binned.push(m),this.plots.push(this.latency,m);let c=i.embedding?null:new wn(l("Outpu\
t tokens per second over time"),100,i,this.view,!1);c&&(this.tokens=c,this.rate.textContent=c.title(),this.binned.push(c),this.plots.push(c)),this.bars=new Mn(l(
"Requests as bars over time"),i,this.view,n),this.bars.whenChosen=b=>this.choose(b),this.plots.push(this.bars);let f=i.touched.some(b=>b>0)?[["k4","affected by \
it: excluded from figures"]]:[],g=i.embedding?[["k0","E2E"]]:[["k1","TTFT"],["k0","E2E"]],x=i.spreads.map(b=>{let w=new yn(l(b.title+" by percentile"),190,b);return w.
other=s?.plots.spreads.find(k=>k.name===b.name)??null,this.plots.push(w),h(b.title,w.other?[["k0","this run"],["k4","before"]]:[],w.canvas,o("span",{class:"soft"},
b.note))});this.el=o("div",{class:"run"},o("header",null,o("div",{class:"what"},o("h2",null,e.title),o("p",{class:"verdict"},e.verdict),...e.next.map(b=>o("p",{
class:"next"},b)),o("p",{class:"facts"},[e.id,...e.tags,...e.head].join(" · "))),o("div",{class:"choices"},this.repetitions(),o("label",null,"against ",this.against))),
o("div",{class:"cards"},...e.cards.map((b,w)=>o("div",{class:"card"},o("span",null,b.name),o("b",null,b.value),o("span",null,b.more),s?.cards[w]?.name===b.name&&
o("span",{class:"before"},"before: "+s.cards[w].value)))),r&&Ea(r),o("div",{class:"axis"},o("div",{class:"plots"},h(i.embedding?"E2E of each request":"TTFT and \
E2E of each request",[...g,...f,["high","failed"],...p],d,o("label",null,u," logarithmic")),c&&h(this.rate,xt(i)?[["compute","busiest second"],["k1","mean"]]:[],
c.canvas),h("Requests",[["host","in progress"],...i.embedding?[]:[["k0","in decode"]],...e.server.length?[["k3","queued, as reported by the server"]]:[]],m.canvas),
this.strip,h("Requests one by one",[["k1","until the first token"],["k0","decode"],["k4","end"],["high","failed"]],this.bars.canvas,this.note),o("p",{class:"hin\
t"},"Drag to zoom all plots, double-click to show the whole run. Click a dot or a bar to see the waits of its request.")),this.side),this.slow,o("section",null,
o("h3",null,"Distributions"),o("div",{class:"spreads"},...x)),o("section",{class:"said"},o("h3",null,"Other facts"),o("dl",null,...e.facts.flatMap(b=>[o("dt",null,
b.label),o("dd",{class:b.severity&&"fact-"+b.severity},b.text)]))),...e.tables.map(b=>o("section",null,o("h3",null,b.title),bs(b)))),this.view.whenMoved=()=>this.
moved(),e.recorded&&y(this.strip,o("p",{class:"soft"},"Reading the recorded steps…"))}store;run;requests;el;against=o("select",{"aria-label":"Compare with"});view;plots=[];latency;tokens=null;rate=o(
"span");binned=[];bars;lanes=null;steps=null;strip=o("div",{class:"strip"});slow=o("section",{class:"slow"});side=o("div",{class:"side"});note=o("span",{class:"\
soft"});chosen="";timer=0;start(){this.follow(this.store.params),this.restyle()}restyle(){for(let t of this.plots)t.draw()}close(){clearTimeout(this.timer);for(let t of this.
plots)t.drop()}repetitions(){let{run:t}=this;if(t.reps<2)return null;let e=o("select",{"aria-label":"Repetition"},...Array.from({length:t.reps},(n,s)=>o("option",
{value:s},`run ${s+1} of ${t.reps}`)));return e.value=String(t.rep),e.addEventListener("change",()=>this.store.set({rep:e.value,req:null,pass:null,lane:null},"p\
ush")),e}follow(t){let e=this.run.plots.bin_ns,n=this.run.plots.running.length*e,s=C(t,"b0",0)/e,r=C(t,"b1",n)/e;(Math.abs(s-this.view.lo)>1e-6||Math.abs(r-this.
view.hi)>1e-6)&&this.view.zoom(s,r);let i=JSON.stringify([t.req,t.lane,t.pass]);i!==this.chosen&&(this.chosen=i,t.req!==void 0?this.showRequest(C(t,"req",-1)):t.
pass!==void 0&&this.steps?this.showStep({lane:C(t,"lane",0),step:C(t,"pass",-1)}):this.bare())}moved(){let t=this.run.plots.bin_ns,e=this.view.hi-this.view.lo>=
this.view.cols-1e-9;this.store.set({b0:e?null:this.view.lo*t,b1:e?null:this.view.hi*t}),clearTimeout(this.timer),this.timer=window.setTimeout(()=>{this.refine()},
Ra)}async refine(){let t=this.run.plots,{lo:e,hi:n}=this.view,s={run:this.run.id,rep:this.run.rep,from:Math.round(Math.max(e*t.bin_ns,0)),to:Math.round(n*t.bin_ns)},
r=n-e<this.view.cols/2&&t.bin_ns>1e6,[i,l]=await Promise.all([r?M("load/timeline",s):null,this.requests.of>this.requests.index.length||this.requests.of<this.run.
plots.at.length?M("load/requests",s):null]);if(!(e!==this.view.lo||n!==this.view.hi)){for(let h of this.binned)h.fine=i,h.draw();this.tokens&&(this.rate.textContent=
this.tokens.title()),l&&this.take(l)}}take(t){this.requests=t,this.bars.show(t);let e=t.of-t.index.length;this.note.textContent=e>0?`${t.index.length} of ${t.of}\
 shown`:""}zoom(t){let e=this.view.col>=0?this.view.col+.5:(this.view.lo+this.view.hi)/2,n=(this.view.hi-this.view.lo)/2*t;this.view.zoom(e-n,e+n)}pan(t){let e=(this.
view.hi-this.view.lo)*t;this.view.zoom(this.view.lo+e,this.view.hi+e)}whole(){this.view.zoom(0,this.view.cols)}captured(){let t=this.steps?.lanes.flatMap(i=>i.windows)??
[],e=t.length?t:this.run.plots.profiled;if(e.length===0)return;let n=Math.min(...e.map(i=>i.from)),s=Math.max(...e.map(i=>i.to)),r=(s-n)*.03;this.view.zoom((n-r)/
this.run.plots.bin_ns,(s+r)/this.run.plots.bin_ns)}choose(t){this.store.set({req:t,lane:null,pass:null},"push")}release(){this.store.params.req!==void 0||this.store.
params.pass!==void 0?this.choose(null):this.whole()}next(t){let e=this.requests.index,n=e.indexOf(C(this.store.params,"req",-1)),s=e[n<0?t>0?0:e.length-1:Math.min(
Math.max(n+t,0),e.length-1)];s!==void 0&&this.store.set({req:s,lane:null,pass:null})}bare(){this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,[]),this.
lanes?.light(null),this.panel(null)}panel(t){y(this.side,t),this.el.classList.toggle("open",t!==null)}async showRequest(t){let e=this.chosen,n=await M("load/req\
uest",{run:this.run.id,rep:this.run.rep,index:t});e===this.chosen&&(this.latency.chosen=this.run.plots.index.indexOf(t),this.latency.again(),this.bars.light(t,n.
with.map(s=>s.index)),this.lanes?.light(n.steps.length?n.steps:null),this.panel(Zr(n,this.steps,{request:s=>this.choose(s),timeline:(s,r,i)=>this.timeline(s,r,i),
close:()=>this.choose(null)})))}async showStep(t){let e=this.chosen,n=this.steps?.lanes[t.lane],s=await M("load/step",{run:this.run.id,lane:t.lane,step:t.step});
if(e!==this.chosen||!this.steps||!n)return;this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,s.with.map(i=>i.index)),this.lanes?.light([t]);let r=this.
timeline(t.lane,n.from[t.step],n.to[t.step]);this.panel(o("aside",{class:"panel","aria-label":"Step "+t.step},o("header",null,o("h2",null,`Step ${t.step}`),o("b\
utton",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:()=>this.choose(null)}},"×")),o("p",null,o("code",null,this.steps.names[n.name[t.step]])),
o("dl",null,o("dt",null,"where"),o("dd",null,It(n)),o("dt",null,"kind"),o("dd",null,this.steps.kinds[n.kind[t.step]]),o("dt",null,"from"),o("dd",null,v(n.from[t.
step])),o("dt",null,"took"),o("dd",null,v(n.to[t.step]-n.from[t.step]))),r&&o("p",null,o("a",{href:r},"show in the timeline")),o("section",null,o("h3",null,s.with.
length?"Requests in this step":"No request of this load was in this step"),o("p",{class:"chips"},...s.with.map(i=>o("button",{class:"chip",title:i.id,on:{click:()=>this.
choose(i.index)}},String(i.index)))))))}timeline(t,e,n){let s=this.steps?.lanes[t];if(!s)return null;let r=Math.max((n-e)*.05,1e4);return L(A(this.store.params,
{tab:"timeline",c:s.capture,t0:e+s.shift-r,t1:n+s.shift+r}))}join(t){this.steps=t;let e=o("canvas",{tabindex:"0",role:"img","aria-label":"Recorded steps over ti\
me"});y(this.strip,o("figure",null,o("figcaption",null,o("span",null,"Steps that were recorded"),o("span",{class:"keys"},...t.kinds.map((n,s)=>ti(["k0","k1","k2",
"k3","k4"][["decode","prefill","mixed","other","idle"].indexOf(n)]??"k"+s%5,n)),o("button",{class:"link",title:"Key: c",on:{click:()=>this.captured()}},"zoom to\
 them"))),e)),this.lanes=new kn(e,this.run.plots,this.view,t),this.lanes.whenChosen=n=>this.store.set({req:null,lane:n.lane,pass:n.step},"push"),this.plots.push(
this.lanes),this.lanes.draw(),y(this.slow,o("h3",null,"Waits of the slow requests",o("span",{class:"soft"},t.steps_by==="time"?", by time":", by request id")),o(
"div",{class:"tails"},this.run.plots.embedding?null:this.tail("TTFT",t.ttft),this.tail("Time between tokens",t.itl)),...t.notes.map(n=>o("p",{class:"soft"},n))),
this.chosen="",this.follow(this.store.params)}unjoined(t){y(this.strip,o("p",{class:"soft"},"The waits of requests in recorded steps are unknown: "+t))}tail(t,e){
let n=[...new Set(e.cases)];return o("div",null,o("h4",null,t,o("span",{class:"soft"},e.n?`, p99 of ${e.n}: ${v(e.p99_ns)}`:"")),n.length===0?o("p",{class:"soft"},
"none in the recorded window"):Sn(e.parts,!0),e.below&&o("p",{class:"soft"},"none at or above p99 is in the recorded window: this is the slowest one there"),o("\
p",{class:"chips"},...n.slice(0,24).map(s=>o("button",{class:"chip",title:"what request "+s+" waited for",on:{click:()=>this.choose(s)}},String(s)))))}};function ti(a,t){
let e=o("i");return e.style.background=`var(--${a})`,o("span",{class:"key"},e,t)}function Ea(a){return o("section",{class:"compared"},o("h3",null,"B against A"),
o("dl",null,o("dt",null,"A"),o("dd",null,a.sides[0]),o("dt",null,"B"),o("dd",null,a.sides[1])),o("p",{class:"verdict"},a.verdict),a.unlike.length>0&&o("ul",null,
...a.unlike.map(t=>o("li",null,t))),...a.tables.map(t=>bs(t)),...a.notes.map(t=>o("p",{class:"soft"},t)))}function ei(a,t){return JSON.stringify([a.run??t.session.run,a.rep,a.vs])}var vs=class{constructor(t){this.context=t;let{keys:e}=t,n=s=>()=>this.page&&s(this.page);
e.bind("w +","Benchmark","zoom in",n(s=>s.zoom(.5))),e.bind("s -","Benchmark","zoom out",n(s=>s.zoom(2))),e.bind("a","Benchmark","move to earlier times",n(s=>s.
pan(-.25))),e.bind("d","Benchmark","move to later times",n(s=>s.pan(.25))),e.bind("0","Benchmark","show the whole run",n(s=>s.whole())),e.bind("c","Benchmark","\
show the captured window",n(s=>s.captured())),e.bind("j","Benchmark","next request",n(s=>s.next(1))),e.bind("k","Benchmark","previous request",n(s=>s.next(-1))),
e.bind("Escape","Benchmark","clear the selection",n(s=>s.release())),this.open()}context;el=o("div",{class:"bench"});page=null;shown="";gone=new AbortController;update(t){
ei(t,this.context)===this.shown?this.page?.follow(t):this.open()}restyle(){this.page?.restyle()}close(){this.gone.abort(),this.page?.close()}open(){let{store:t,
session:e}=this.context,n=t.params,s=n.run??e.run;this.close(),this.page=null,this.shown=ei(n,this.context),this.gone=new AbortController,s===""?this.choose():this.
show(s,n.rep,n.vs)}async choose(){let{signal:t}=this.gone,e=await M("load/runs",{},t);if(t.aborted)return;if(e.length===0){y(this.el,o("div",{class:"none"},o("h\
2",null,"No benchmark run yet"),o("p",null,"Each ",o("code",null,"stepscope bench serving --url http://HOST:30000")," keeps one; with ",o("code",null,"--profile"),
" it also records steps.")));return}let n=["request throughput","output throughput","TTFT p50","TTFT p99","ITL p50","ITL p99"];y(this.el,o("h2",null,"Benchmark \
runs"),o("div",{class:"scroll"},o("table",null,o("thead",null,o("tr",null,o("th",null,"run"),o("th",null,"model"),o("th",null,"tags"),...n.map(s=>o("th",{class:"\
r"},s)),o("th",null,"steps"))),o("tbody",null,...e.map(s=>o("tr",null,o("td",null,o("a",{href:this.at({run:s.id})},s.id),s.status!=="complete"&&o("span",{class:"\
soft"}," "+s.status)),o("td",null,s.model),o("td",null,s.tags.join(", ")),...n.map(r=>{let i=s.numbers.find(l=>l.name===r);return o("td",{class:"r"},i?`${i.value.
toPrecision(3)} ${i.unit??""}`:"–")}),o("td",null,s.traces>0?"recorded":"")))))))}at(t){return L(A(this.context.store.params,{tab:"bench",...t}))}async show(t,e,n){
let{signal:s}=this.gone,{store:r,session:i}=this.context,l={run:t,rep:e},h=n===void 0||n===t?null:{run:n},[p,u,d,m]=await Promise.all([M("load",l,s),M("load/req\
uests",l,s),h&&M("load",h,s),h&&M("load/compare",{run:t,vs:n},s)]);if(s.aborted)return;let c=this.page=new _n(r,p,u,d,m);y(this.el,c.el),c.start();let f=c.against;
if(!i.exported){let g=await M("load/runs",{},s);if(s.aborted)return;y(f,o("option",{value:""},"no other run"),...g.filter(x=>x.id!==t).map(x=>o("option",{value:x.
id},[x.id,...x.tags].join(" ")))),f.value=n??"",f.addEventListener("change",()=>r.set({vs:f.value||null},"push")),f.disabled=f.options.length<2}if(p.recorded)try{
let g=await M("load/steps",{run:t},s);!s.aborted&&g.rep===p.rep?c.join(g):s.aborted||c.unjoined(`steps were recorded in repetition ${g.rep+1} of this load`)}catch(g){
if(s.aborted)return;c.unjoined(g instanceof Error?g.message:String(g))}}},ni={id:"bench",title:"Benchmark",needs:"runs",open:a=>new vs(a)};function ws(a){return a.p99_to_ns===null?"over "+v(a.p99_from_ns):a.p99_from_ns>0?`${v(a.p99_from_ns)} to ${v(a.p99_to_ns)}`:"under "+v(a.p99_to_ns)}var Ft=["ru\
nning","queued","tokens","usage"],La=6e4,si=10*6e4,re=class{samples;constructor(t){this.samples=Array.from({length:t},()=>[])}add(t){let e=this.samples[t.server];
if(!e)return;e.push(t);let n=e.findIndex(s=>s.at_ms>=t.at_ms-si);n>0&&e.splice(0,n)}last(t){return this.samples[t].at(-1)}replies(t){return this.samples[t].slice(
-60).flatMap(e=>e.reply_ns??[])}ranks(t){return[...new Set(this.samples[t].flatMap(e=>e.ranks.map(n=>n.dp)))].sort((e,n)=>e-n)}line(t,e,n){let s=this.samples[t];
return{at:s.map(r=>r.at_ms),values:s.map(r=>r.ranks.find(i=>i.dp===e)?.[n]??null)}}span(t){let e=Math.min(...this.samples.map(n=>n[0]?.at_ms??t));return Math.min(
Math.max(t-e,La),si)}total(t){let e=new Map,n={at:[],values:[]};for(let s of this.samples.flat().sort((r,i)=>r.at_ms-i.at_ms)){if(s.error&&!e.has(s.server))continue;
e.set(s.server,s.error?null:mt(s.ranks.map(i=>i[t])));let r=[...e.values()];n.at.push(s.at_ms),n.values.push(r.includes(null)?null:mt(r))}return n}imbalance(t){
let e=this.samples[t];return{at:e.map(n=>n.at_ms),values:e.map(n=>Aa(n.ranks.map(s=>mt([s.running,s.queued]))))}}top(t){let e=0;for(let n of this.samples.flat())
for(let s of n.ranks)e=Math.max(e,s[t]??0);return e}};function ri(a){if(a.length<20)return"";let t=[...a].sort((i,l)=>i-l),e=i=>t[Math.floor(i*(t.length-1))],n=e(
.2),s=t.filter(i=>i>Math.max(4*n,1e7)),r=e(.95);return s.length<t.length/5||r<2e7?"":`answers in stalls: ${s.length} of the last ${t.length} replies took up to ${v(
r)}, the others about ${v(n)}. Its process is stopped at times, held by a CPU quota, or busy`}function Aa(a){let t=a.filter(n=>n!==null),e=mt(t);return t.length<
2||!e?null:Math.max(...t)*t.length/e}function mt(a){let t=a.filter(e=>e!==null);return t.length?t.reduce((e,n)=>e+n,0):null}function ii(a,t,{now:e,span:n},s,r){let i=[],l=[];return a.values.forEach((h,p)=>{if(h===null||a.at[p]<e-n){l.length&&i.push(l),l=[];return}l.push([s*(1-(e-a.at[p])/
n),r*(1-Math.min(h/(t||1),1))])}),l.length&&i.push(l),i}function ai(a,t,e,n,s,r){a.strokeStyle=a.fillStyle=e;for(let i of t){a.beginPath();for(let[l,h]of i)a.lineTo(
n+l,s+h);i.length===1&&a.lineTo(n+i[0][0]+1,s+i[0][1]),a.stroke(),a.lineTo(n+i[i.length-1][0],r),a.lineTo(n+i[0][0],r),a.globalAlpha=.15,a.fill(),a.globalAlpha=
1}}var Tn=26,Rn=class{constructor(t){this.color=t}color;canvas=o("canvas",{"aria-hidden":"true"});draw(t,e,n){let s=window.devicePixelRatio||1,r=this.canvas.getContext(
"2d"),i=this.canvas.clientWidth;if(!r||i===0)return;this.canvas.width=Math.round(i*s),this.canvas.height=Math.round(Tn*s),r.setTransform(s,0,0,s,0,0);let l=at();
r.fillStyle=l("line"),r.fillRect(0,Tn-1,i,1),r.lineWidth=1.25,ai(r,ii(t,e,n,i,Tn-3),l(this.color),0,1.5,Tn)}},En=class extends Y{constructor(e,n){super(e,120,{left:52,
bottom:20});this.text=n}text;lines=[];sight={now:0,span:1};show(e,n){this.lines=e,this.sight=n,this.draw()}paint(e){let{ctx:n,area:s,color:r}=e,{now:i,span:l}=this.
sight,h=Math.max(...this.lines.flatMap(p=>p.line.values.map((u,d)=>p.line.at[d]>=i-l?u??0:0)),0)*1.08||1;this.yAxis(e,h,this.text),n.fillStyle=r("soft"),n.textBaseline=
"top";for(let[p,u]of[[0,"left"],[.5,"center"],[1,"right"]])n.textAlign=u,n.fillText(p===1?"now":"−"+v(Math.round(l*(1-p)/1e3)*1e9).replace(/\.0+ /," "),s.x+s.
w*p,s.y+s.h+5);n.lineWidth=1.5;for(let p of this.lines)ai(n,ii(p.line,h,this.sight,s.w,s.h),r(p.color),s.x,s.y,s.y+s.h)}};var oi=60;function xs(a,t,{now:e,span:n}){let s=r=>1-(e-r)/n;return s(t)<0||s(a)>1?null:[Math.max(s(a),0),Math.min(s(t),1)]}function pi(a,t){return a.slice(a.indexOf(
t)+1).find(n=>["over","alarm"].includes(n.kind)&&n.rule===t.rule&&n.server===t.server||n.kind==="end")?.at_ms??1/0}var Bt=class extends En{marks=[];found(t){this.
marks=t,this.draw()}paint(t){let{ctx:e,area:n,color:s}=t;for(let r of this.marks){if(!r.onset_ms)continue;let i=xs(r.after_ms,r.onset_ms,this.sight),l=xs(r.at_ms,
r.at_ms,this.sight);e.fillStyle=e.strokeStyle=s("high");let h=xs(r.onset_ms,Math.min(pi(this.marks,r),this.sight.now),this.sight);h&&(e.globalAlpha=.1,e.fillRect(
n.x+n.w*h[0],n.y,n.w*(h[1]-h[0]),n.h),e.globalAlpha=1),i&&(e.globalAlpha=.35,e.fillRect(n.x+n.w*i[0],n.y,Math.max(n.w*(i[1]-i[0]),2),n.h),e.globalAlpha=1),l&&(e.
lineWidth=1,e.setLineDash([3,3]),e.beginPath(),e.moveTo(n.x+n.w*l[0],n.y),e.lineTo(n.x+n.w*l[0],n.y+n.h),e.stroke(),e.setLineDash([]))}super.paint(t)}},li={alarm:"\
begins",verdict:"verdict",failed:"failed",lost:"lost"},hi=a=>a.kind!=="begin",Ln=class{constructor(t,e){this.marks=t;this.open=e;y(this.told,o("h2",null,"Findin\
gs"),this.list),this.write()}marks;open;told=o("section",{class:"watched","aria-live":"polite"});plot=new Bt(o("canvas",{role:"img","aria-label":"Requests of th\
e busiest rank relative to the mean, over the last minutes"}),t=>t.toFixed(1));figure=o("figure",null,o("figcaption",null,"Busiest rank over the mean"),this.plot.
canvas);list=o("ol",{class:"marks"});add(t){if(this.marks.push(t),!!hi(t))for(this.list.dataset.none||t.kind==="over"||t.kind==="end"?this.write():this.list.prepend(
this.item(t));this.list.children.length>oi;)this.list.lastElementChild?.remove()}show(t,e){let n=t.filter(s=>s.values.some(r=>r!==null));this.figure.hidden=n.length===
0,this.plot.show(n.map((s,r)=>({line:s,color:"k"+String(r%4)})),e),this.plot.found(this.marks)}drop(){this.plot.drop()}write(){let t=this.marks.filter(hi).slice(
-oi).reverse();t.length?delete this.list.dataset.none:this.list.dataset.none="1",y(this.list,...t.length?t.map(e=>this.item(e)):[o("li",{class:"soft"},"Nothing \
yet.")])}item(t){let e=r=>new Date(r).toLocaleTimeString([],{hour12:!1}),n=t.kind==="alarm"?pi(this.marks,t):1/0,s=n<1/0&&`over at ${e(n)}`;return o("li",{class:s!==
!1?"past":li[t.kind]?"loud "+t.kind:null,data:{kind:t.kind}},o("time",{datetime:new Date(t.at_ms).toISOString()},e(t.at_ms)),o("b",null,li[t.kind]??t.kind),o("s\
pan",null,[t.server,t.rank===t.server?"":t.rank].filter(r=>r).join(" ")),o("span",{class:"text"},s&&o("b",null,s+": "),t.text,t.capture!==""&&" ",t.capture!==""&&
o("button",{class:"link",on:{click:()=>this.open(t.capture)}},"open "+t.capture)))}};var ys={running:"running",queued:"queued",tokens:"tokens/s",usage:"KV cache"},ie={running:"k0",queued:"k3",tokens:"compute",usage:"k2"};function yt(a,t){return t==
null?"–":a==="usage"?_(t):T(t<10&&!Number.isInteger(t)?t.toFixed(1):String(Math.round(t)))}function di(a,t){return t>0?`0 to ${yt(a,t)}`:""}function ui({name:a,
role:t}){return t===""||a.toLowerCase().includes(t)?a:`${t} ${a}`}var ks=class{constructor(t,e,n){this.server=t;this.dp=e;this.cells=Ft.map(s=>({measure:s,value:o(
"b"),spark:new Rn(ie[s])})),this.el=o("tr",null,o("th",{scope:"row"},n),...this.cells.map(s=>o("td",{data:{title:ys[s.measure]}},o("div",{class:"cell"},s.spark.
canvas,s.value))))}server;dp;el;cells;draw(t,e,n){let s=t.last(this.server)?.ranks.find(r=>r.dp===this.dp);for(let r of this.cells)r.value.closest("td").dataset.
title=ys[r.measure]+" "+di(r.measure,e[r.measure]),r.value.textContent=yt(r.measure,s?.[r.measure]),r.spark.draw(t.line(this.server,this.dp,r.measure),e[r.measure],
n)}},Ms=class{constructor(t){this.context=t;this.steps.value=String(C(t.store.params,"steps",10)),this.steps.addEventListener("change",()=>t.store.set({steps:Math.
min(Math.max(Number(this.steps.value)||10,1),1e4)})),t.keys.bind("r","Live","record a window of all ranks",()=>{this.record()}),y(this.el,o("p",{class:"soft"},"\
Asking the servers…")),this.events=new EventSource("api/live"),this.on("hello",e=>this.hello(e)),this.on("sample",e=>this.sample(e)),this.on("capture",e=>this.
capture(e)),this.on("mark",e=>this.mark(e)),this.events.addEventListener("error",()=>this.lost("stepscope does not answer: has it stopped?"))}context;el=o("div",
{class:"live"});events;history=new re(0);servers=[];rows=new Map;cards=o("div",{class:"cards"});body=o("tbody");trouble=o("p",{class:"lost",role:"status",hidden:!0});shot=o(
"section",{class:"shot"});steps=o("input",{type:"number",min:"1",max:"10000","aria-label":"Forward steps"});button=o("button",{class:"button",on:{click:()=>{this.
record()}}},"Record");told=o("div",{class:"told","aria-live":"polite"});requests=new Bt(o("canvas",{role:"img","aria-label":"Requests running and queued over th\
e last minutes"}),t=>yt("running",t));output=new Bt(o("canvas",{role:"img","aria-label":"Output tokens per second over the last minutes"}),t=>yt("tokens",t));watched=null;awaited=0;pending=0;scales=Object.
fromEntries(Ft.map(t=>[t,o("span",{class:"scale"})]));on(t,e){this.events.addEventListener(t,n=>e(JSON.parse(n.data)))}update(){this.steps.value=String(C(this.context.
store.params,"steps",10))}restyle(){this.draw()}close(){this.events.close(),cancelAnimationFrame(this.pending),this.requests.drop(),this.output.drop(),this.watched?.
drop()}lost(t){this.trouble.hidden=t==="",this.trouble.textContent=t}hello(t){this.servers=t.servers,this.history=new re(t.servers.length);for(let n of t.samples)
this.history.add(n);this.rows.clear(),this.lost(""),y(this.shot,o("label",null,"Record ",this.steps," forward steps of all ranks "),this.button,this.told),this.
button.disabled=!t.records,t.records||y(this.told,o("p",{class:"soft"},t.servers.every(n=>n.url==="")?"Recording needs a server, not only a log: give its --url.":
"There is no directory for recordings: give --run-dir."));let e=(n,s)=>{let r=o("i");return r.style.background=`var(--${ie[n]})`,o("span",{class:"key"},r,s)};this.
watched?.drop(),this.watched=t.watched?new Ln(t.marks,n=>this.open(n)):null,y(this.el,this.trouble,this.cards,this.watched?this.watched.told:this.shot,o("div",{
class:"together"},o("figure",null,o("figcaption",null,"Requests ",e("running","running"),e("queued","queued")),this.requests.canvas),o("figure",null,o("figcapti\
on",null,"Output tokens/s"),this.output.canvas),this.watched&&this.watched.figure),o("div",{class:"scroll"},o("table",{class:"ranks"},o("thead",null,o("tr",null,
o("th",{scope:"col"},"rank"),...Ft.map(n=>o("th",{scope:"col"},ys[n]," ",this.scales[n])))),this.body)),o("p",{class:"soft"},`Servers are polled every ${v(t.every_ms*
1e6)}${t.watched?"":" while a page shows them"}. All ranks share one scale.`)),t.capture&&this.capture(t.capture),this.draw()}sample(t){this.history.add(t),this.
draw()}mark(t){this.watched?.add(t),this.draw()}draw(){cancelAnimationFrame(this.pending),this.pending=requestAnimationFrame(()=>this.paint())}paint(){let t=this.
servers.map((f,g)=>this.history.last(g)),e=Math.max(...t.map(f=>f?.at_ms??0)),n=Object.fromEntries(Ft.map(f=>[f,f==="usage"?1:this.history.top(f)])),s=[];this.servers.
forEach((f,g)=>{for(let x of this.history.ranks(g)){let b=`${g} ${x}`,w=this.history.ranks(g).length>1,k=[this.servers.length>1?ui(f):"",w?"DP"+String(x).padStart(
2,"0"):""].filter(S=>S!=="").join(" ")||f.name,R=this.rows.get(b);(!R||R.el.cells[0].textContent!==k)&&this.rows.set(b,R=new ks(g,x,k)),s.push(R)}}),(s.length!==
this.body.rows.length||s.some((f,g)=>this.body.rows[g]!==f.el))&&y(this.body,...s.map(f=>f.el));for(let f of Ft)this.scales[f].textContent=di(f,n[f]);let r={now:e,
span:this.history.span(e)};for(let f of s)f.draw(this.history,n,r);this.requests.show([{line:this.history.total("running"),color:ie.running},{line:this.history.
total("queued"),color:ie.queued}],r),this.output.show([{line:this.history.total("tokens"),color:ie.tokens}],r),this.watched&&(this.watched.show(this.servers.map(
(f,g)=>this.history.imbalance(g)),r),this.requests.found(this.watched.marks),this.output.found(this.watched.marks));let i=t.flatMap(f=>f?.ranks??[]),l=f=>t.map(
g=>g?.[f]).filter(g=>g!=null).sort((g,x)=>x.mean_ns-g.mean_ns)[0],h=i.map(f=>f.usage).filter(f=>f!==null),p=l("ttft"),u=l("itl"),d=(f,g,x)=>o("div",{class:"card"},
o("span",null,f),o("b",null,g),o("span",null,x));y(this.cards,d("Running",yt("running",mt(i.map(f=>f.running))),"requests"),d("Queued",yt("queued",mt(i.map(f=>f.
queued))),"requests"),d("Output",yt("tokens",mt(t.map(f=>f?.tokens??null))),"tokens/s"),d("KV cache",h.length?_(Math.max(...h)):"–",i.length>1?"of the rank th\
at uses most":"in use"),d("TTFT",p?v(p.mean_ns):"–",p?"mean now; p99 "+ws(p):"no first token at the moment"),d("Between tokens",u?v(u.mean_ns):"–",u?"mean n\
ow; p99 "+ws(u):"no token at the moment"));let m=t.map((f,g)=>f?.error?`${this.servers[g].name}: ${f.error}`:f?.restarted?`${this.servers[g].name} was restarted`:
"").filter(f=>f!==""),c=this.servers.flatMap((f,g)=>ri(this.history.replies(g)).replace(/^./,x=>`${ui(f)} ${x}`)||[]);this.lost([...m,...c].join("; ")),this.el.
dataset.drawn=String(e)}async record(){if(!this.button.disabled)try{if(this.button.dataset.stops){await St("live/stop",{});return}let t=Math.min(Math.max(Math.round(
Number(this.steps.value))||10,1),1e4);this.awaited=(await St("live/capture",{steps:t})).n}catch(t){y(this.told,o("p",{class:"bad"},t instanceof Error?t.message:
String(t)))}}capture(t){let e=t.state==="recording",{store:n}=this.context;this.button.textContent=e?"Stop":"Record",e?this.button.dataset.stops="1":delete this.
button.dataset.stops,this.steps.disabled=e;let s=t.state==="done"&&o("p",null,"Kept as run ",o("button",{class:"link",on:{click:()=>this.open(t.run)}},t.run),".");
y(this.told,e&&o("p",null,`Recording ${t.steps} steps…`),(t.state==="failed"||t.state==="stopped")&&o("p",{class:"bad"},t.error),s,t.now.length>0&&o("pre",null,
t.now.join(`
`)),t.lines.length>0&&o("details",{open:t.state==="failed"},o("summary",null,"Messages"),o("pre",null,t.lines.join(`
`)))),this.told.dataset.state=t.state,t.state==="done"&&t.n===this.awaited&&(this.awaited=0,n.params.tab==="live"&&this.open(t.run))}open(t){let{store:e}=this.context;
e.go(A(e.params,{tab:"summary",c:t,run:null}))}};function Pa(){return{el:o("div",{class:"live none"},o("h2",null,"No server is shown"),o("p",null,"Give its URL:\
 ",o("code",null,"stepscope view --url http://HOST:30000"),". Its requests, tokens and cache are then shown here, rank by rank, and windows of all ranks can be \
recorded."))}}var Ss={id:"live",title:"Live",needs:"server",open:a=>a.session.live?new Ms(a):Pa()};function ci(a){let t=a.indexOf("rank"),e=a.indexOf("start_ns");return t<0||e<0?null:{rank:t,start:e,dur:a.indexOf("dur_ns")}}function mi(a){return a===null?"":typeof a==
"number"&&!Number.isInteger(a)?String(Number(a.toPrecision(6))):String(a)}function fi(a,t){let e=n=>{let s=n===null?"":String(n);return/[",\r\n]/.test(s)?'"'+s.
replaceAll('"','""')+'"':s};return[a,...t].map(n=>n.map(e).join(",")+`\r
`).join("")}var Ca=[["longest kernels",`SELECT rank, step, name, start_ns, dur_ns FROM spans
WHERE category = 'kernel' ORDER BY dur_ns DESC LIMIT 50`],["longest gaps of each GPU",`SELECT rank, step, start_ns - max(end_ns) OVER (PARTITION BY rank ORDER B\
Y start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_ns,
  name AS 'after the gap', start_ns FROM spans WHERE category IN ('kernel', 'gpu_memcpy', 'gpu_memset') ORDER BY gap_ns DESC LIMIT 50`],["time by kernel class",
`SELECT rank, class, count(*) AS kernels, sum(dur_ns) AS ns FROM spans
WHERE class IS NOT NULL GROUP BY rank, class ORDER BY rank, ns DESC`],["one step on all ranks",`SELECT rank, step_kind, count(*) AS kernels, sum(dur_ns) AS busy\
_ns, max(end_ns) - min(start_ns) AS length_ns
FROM spans WHERE step = 1 AND category = 'kernel' GROUP BY rank`],["shapes of matrix products",`SELECT name, input_dims, count(*) AS calls, sum(dur_ns) AS ns FR\
OM spans
WHERE input_dims IS NOT NULL GROUP BY name, input_dims ORDER BY calls DESC LIMIT 50`],["tables and columns",`SELECT m.name AS 'table', group_concat(c.name, ', '\
) AS columns
FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type IN ('table', 'view') GROUP BY m.name ORDER BY m.name`]],$a=4e3,_s=class{constructor(t){this.context=
t;this.text.value=t.store.params.sql??"",this.text.addEventListener("keydown",e=>{e.key!=="Enter"||!(e.ctrlKey||e.metaKey)||(e.preventDefault(),this.run())}),this.
text.value!==""&&this.run()}context;worker=null;ranks=null;running=null;text=o("textarea",{spellcheck:"false",rows:"5","aria-label":"SQL",placeholder:"SELECT … \
FROM spans"});start=o("button",{class:"button",title:"Run the query (key: Ctrl + Enter)",on:{click:()=>this.run()}},"Run");stop=o("button",{class:"button",disabled:!0,
on:{click:()=>this.end("stopped")}},"Stop");said=o("p",{class:"query-said",role:"status"});result=o("div",{class:"table query-rows",tabindex:"0",role:"region","\
aria-label":"Rows"});el=o("div",{class:"query"},o("p",{class:"query-about"},"SQL over the spans of this capture, as ",o("code",null,"stepscope trace export")," \
writes them. Times are ns; ",o("code",null,"start_ns")," counts from the epoch. A row with ",o("code",null,"rank")," and ",o("code",null,"start_ns")," leads to \
its span in the timeline."),o("div",{class:"query-examples"},...Ca.map(([t,e])=>o("button",{class:"chip",on:{click:()=>this.example(e)}},t))),this.text,o("div",
{class:"query-tools"},this.start,this.stop,this.said),this.result);update(t,e){t.sql===e.sql||t.sql===this.text.value||(this.text.value=t.sql??"",t.sql!==void 0&&
this.run())}example(t){this.text.value=t,this.run()}async ask(t){this.worker??=new Worker("query.js");let{worker:e}=this;return new Promise(n=>{this.running=()=>n(
{error:"stopped"}),e.onmessage=s=>n(s.data),e.onerror=()=>n({error:"SQLite could not be started in this browser"}),e.postMessage({url:Ut("database",{c:this.context.
store.params.c}),sql:t})})}run(){let t=this.text.value.trim();t===""||this.running!==null||(t.length<=$a&&this.context.store.set({sql:t},"push"),this.stop.disabled=
!1,this.said.textContent=this.worker===null?"making the tables …":"running …",Z((async()=>{let e=this.ranks===null?await this.ask("SELECT rank FROM ranks OR\
DER BY id"):null;if(e!==null&&"error"in e)return this.show(e);e!==null&&(this.ranks=e.rows.map(n=>String(n[0]))),this.show(await this.ask(t))})()))}show(t){if(this.
running=null,this.stop.disabled=!0,this.said.classList.toggle("bad","error"in t),"error"in t)return this.said.textContent=t.error,y(this.result);let e=t.rows.length,
n=ci(t.columns);y(this.said,`${t.more?`the first ${e} rows`:`${e} row${e===1?"":"s"}`}, ${t.ms<10?t.ms.toFixed(1):Math.round(t.ms)} ms `,e>0&&o("a",{href:URL.createObjectURL(
new Blob([fi(t.columns,t.rows)],{type:"text/csv"})),download:"query.csv"},"CSV")),y(this.result,t.columns.length>0&&o("table",null,o("thead",null,o("tr",null,n!==
null&&o("th",{scope:"col"},o("span",{class:"hidden"},"span")),...t.columns.map(s=>o("th",{scope:"col"},s)))),o("tbody",null,...t.rows.map(s=>o("tr",null,n!==null&&
o("td",null,o("button",{class:"tl-link","aria-label":"Show in the timeline",on:{click:()=>{this.find(s,n)}}},"show")),...s.map(r=>o("td",{class:typeof r=="numbe\
r"?"r":null,title:typeof r=="string"?r:null},mi(r))))))))}async find(t,e){let n=this.ranks?.indexOf(String(t[e.rank]))??-1,{store:s}=this.context,r=n<0?null:await M(
"timeline/locate",{c:s.params.c,rank:n,start:String(t[e.start]),dur:e.dur<0?null:String(t[e.dur])});if(r===null)return void(this.said.textContent="No span of th\
is rank begins at that time.");let i=Math.max(r.dur_ns,500);s.go(A(s.params,{tab:"timeline",rank:r.rank,sel:r.span,t0:r.start_ns-i,t1:r.start_ns+r.dur_ns+i}))}end(t){
this.worker?.terminate(),this.worker=null,this.running?.(),t!==""&&(this.said.textContent=t)}close(){this.end("")}},An={id:"query",title:"Query",needs:"tables",
open:a=>new _s(a)};function Ha(a){let t=new Date(a),e=n=>String(n).padStart(2,"0");return`${t.getFullYear()}-${e(t.getMonth()+1)}-${e(t.getDate())} ${e(t.getHours())}:${e(t.getMinutes())}`}
function gi(a){let t=Math.abs(a.value)>=1e3?T(String(Math.round(a.value))):String(Number(a.value.toPrecision(3)));return`${a.name} ${t}${a.unit?" "+a.unit:""}`}
var Ts=class{constructor(t){this.context=t;let{store:e,keys:n}=t;this.table=new Nt(e,"Runs",this.columns(),"-created",s=>[s.id,s.kind,s.status,s.model,s.backend,
...s.tags].join(" ")),this.search.value=e.params.q??"",this.search.addEventListener("input",()=>e.set({q:this.search.value,all:null})),n.bind("/","Runs","filter",
()=>this.search.focus()),M("runs").then(({runs:s})=>{if(s.length===0)return y(this.el,o("p",{class:"none"},"There are no runs yet: bench, profile, demo and job \
each keep one."));y(this.el,o("div",{class:"tools"},o("span",{class:"soft"},`${T(String(s.length))} runs`),o("span",{class:"space"}),this.search),this.table.el),
this.table.set(s)})}context;el=o("div",{class:"runs"});search=o("input",{type:"search",placeholder:"Filter","aria-label":"Filter"});table;columns(){let{store:t,
session:e}=this.context,n=(i,l,h)=>o("a",{href:L(A(t.params,i)),title:h},l),s=t.params.c??e.captures[0]?.id,r=i=>[i.traces&&n({tab:"summary",c:i.id},"capture","\
summary of the capture"),i.load&&n({tab:"bench",run:i.id},"load","latencies of the requests"),i.traces&&s!==void 0&&s.split(":")[0]!==i.id&&n({tab:"kernels",c:s,
vs:i.id},"compare","compare the kernels of the open capture with those of this run")];return[{id:"created",title:"when",num:i=>i.created_ms,text:i=>Ha(i.created_ms),
class:"when"},{id:"kind",title:"kind",text:i=>i.kind},{id:"status",title:"status",text:i=>i.status,cell:i=>o("span",{class:"status is-"+i.status.replace(/[^a-z]/g,
""),title:i.problem},i.status)},{id:"model",title:"model",class:"name",text:i=>i.model,cell:i=>o("span",{class:"cut",title:[i.model,i.backend,...i.tags].filter(
l=>l!=="").join(", ")},i.model||i.backend,...i.tags.map(l=>o("span",{class:"chip"},l)))},{id:"numbers",title:"figures",text:i=>i.numbers.map(gi).join(", "),cell:i=>i.
numbers.slice(0,3).map(gi).join(" · ")},{id:"size",title:"size",num:i=>i.size,text:i=>le(i.size)},{id:"id",title:"id",text:i=>i.id,cell:i=>o("code",null,i.id)},
{id:"show",title:"show",text:()=>"",cell:i=>o("span",{class:"ways"},...r(i))}]}update(t,e){["q","sort","all"].some(n=>t[n]!==e[n])&&this.table.draw()}},Pn={id:"\
runs",title:"Runs",needs:"runs",open:a=>new Ts(a)};var Rs=[Se,Er,zr,fn,jr,ni,Ss,Pn,An],K=document.documentElement,bi=matchMedia("(prefers-color-scheme: dark)");function ae(a){if(a instanceof DOMException&&a.name===
"AbortError")return;let t=a instanceof Error?a.message:String(a);K.dataset.error??=t,oe.hidden=!1,y(oe,t)}addEventListener("error",a=>ae(a.error??a.message));addEventListener(
"unhandledrejection",a=>ae(a.reason));var oe=o("p",{class:"trouble",role:"alert",hidden:!0}),J=o("main",{id:"main",tabindex:"-1"}),Es=class{constructor(t){this.
session=t;this.notes=new gn(this.store,()=>this.capture(),t.exported!==null),document.body.replaceChildren(o("a",{class:"skip",href:"#main",on:{click:e=>(e.preventDefault(),
J.focus())}},"Skip to the view"),o("header",{class:"top"},o("h1",null,"stepscope"),this.nav,o("span",{class:"space"}),Oa(t),this.perfetto,this.notes.button,this.
picker,o("button",{class:"quiet",title:"Light or dark (key: \\)","aria-label":"Light or dark",on:{click:()=>this.turn()}},"◐"),o("button",{class:"quiet",title:"\
Keys (key: ?)","aria-label":"Keys",on:{click:()=>dispatchEvent(new KeyboardEvent("keydown",{key:"?"}))}},"?")),oe,J),[...Rs.filter(e=>e!==fn&&e!==An),fn,An].forEach(
(e,n)=>this.keys.bind(String(n+1),"Everywhere","show "+e.title,()=>this.offers(e)&&this.open(e.id))),this.keys.bind("b","Everywhere","notes and saved places",()=>{
this.notes.open()}),this.keys.bind("\\","Everywhere","light or dark",()=>this.turn()),this.picker.addEventListener("change",()=>this.store.go(A(this.store.params,
{tab:this.tab().id,c:this.picker.value}))),this.store.follow((e,n)=>this.change(e,n)),bi.addEventListener("change",()=>this.paint()),Os(()=>this.ready()),addEventListener(
"beforeprint",()=>this.paper(!0)),addEventListener("afterprint",()=>this.paper(!1)),this.change(this.store.params,{})}session;store=new me;keys=new ce;view=null;shown="";loose=[];reaching="";linked="";nav=o(
"nav",{"aria-label":"Views"});perfetto=o("a",{class:"perfetto",target:"_blank",rel:"noopener",title:"Open the merged trace in Perfetto, in a new tab, with the r\
elevant rows pinned"},"Perfetto");notes;picker=o("select",{"aria-label":"Capture",class:"capture"});capture(){let{captures:t}=this.session,{c:e}=this.store.params;
return e===void 0?t[0]:t.find(n=>n.id===e)}offers(t){switch(t.needs){case"capture":return this.session.captures.length>0||this.store.params.c!==void 0;case"tabl\
es":return this.session.exported===null&&this.offers(Se);case"light":return this.capture()?.light??!1;case"server":return!this.session.exported;case"runs":return this.
session.runs;case"nothing":return!0}}tab(){let{tab:t}=this.store.params,e=Rs.filter(s=>this.offers(s)),n=this.session.captures.length>0?Se:this.session.live?Ss:
Pn;return e.find(s=>s.id===t)??e.find(s=>s===n)??e[0]}open(t){this.store.go(A(this.store.params,{tab:t}))}turn(){this.store.set({theme:K.dataset.theme==="dark"?
"light":"dark"})}paint(){let{theme:t}=this.store.params,e=K.dataset.theme;K.dataset.theme=K.dataset.print?"light":t==="light"||t==="dark"?t:bi.matches?"dark":"l\
ight",K.dataset.theme!==e&&this.view?.restyle?.()}paper(t){t?K.dataset.print="1":delete K.dataset.print,t&&J.querySelectorAll("details").forEach(e=>e.open=!0),this.
paint(),this.view?.restyle?.()}change(t,e){delete K.dataset.ready,this.paint();let n=this.tab(),s=this.session.captures,r=this.capture();if(["capture","tables"].
includes(n.needs)&&t.c!==void 0&&r===void 0)return this.reach(t.c);this.reaching="";let i=JSON.stringify([n.id,t.c??s[0]?.id]);i===this.shown?this.view?.update?.(
t,e):this.show(n,i,{session:this.session,store:this.store,keys:this.scoped(),capture:r}),this.head(n,t),jt()&&this.ready()}reach(t){let e=L(this.store.params);if(this.
reaching===e)return;this.reaching=e,this.view?.close?.(),this.view=null,this.shown="",J.className="",y(J,o("p",{class:"wait"},`Reading ${t} …`)),this.head(this.
tab(),this.store.params);let n=()=>this.reaching===e;M("session",{open:t}).then(s=>{n()&&(this.session=s,s.opened!==t?this.store.set({c:s.opened}):this.change(this.
store.params,this.store.params))}).catch(s=>{n()&&(J.replaceChildren(),ae(s))}).finally(()=>n()&&(this.reaching=""))}scoped(){for(let n of this.loose.splice(0))
n();let t=this.keys,e=this.loose;return Object.assign(Object.create(t),{bind(...n){let s=t.bind(...n);return e.push(s),s}})}show(t,e,n){this.view?.close?.(),P(),
this.shown=e,oe.hidden=!0,delete K.dataset.error;try{this.view=t.open(n),J.className="view-"+t.id,J.replaceChildren(this.view.el)}catch(s){this.view=null,J.replaceChildren(),
ae(s)}}head(t,e){let n=Rs.filter(h=>this.offers(h)).map(h=>({href:L(A(e,{tab:h.id})),title:h.title,here:h===t})),s=JSON.stringify(n);this.linked!==s&&y(this.nav,
...n.map(h=>o("a",{href:h.href,"aria-current":h.here?"page":null},h.title))),this.linked=s;let r=this.session.captures,i=e.c??r[0]?.id;this.perfetto.hidden=!this.
session.perfetto||i===void 0,this.perfetto.href=`perfetto/${encodeURIComponent(i??"")}/`,this.notes.button.hidden=this.capture()===void 0||!["capture","light","\
tables"].includes(t.needs);let l=ue(this.session);this.picker.hidden=l.length<2||!["capture","light","tables"].includes(t.needs)&&t!==Pn,this.picker.hidden||(y(
this.picker,...l.map(h=>o("option",{value:h.id},h.title))),this.picker.value=e.c??r[0].id),document.title=`${t.title} · ${r.find(h=>h.id===e.c)?.title??r[0]?.title??
"runs"} · stepscope`}ready(){requestAnimationFrame(()=>requestAnimationFrame(()=>{jt()&&(K.dataset.ready="1")}))}};function Oa({exported:a,version:t}){return a!==
null&&o("details",{class:"exported"},o("summary",null,"standalone page: what is missing"),o("div",null,o("ul",null,...a.left_out.map(e=>o("li",null,e))),o("p",null,
`Written by stepscope ${t}; stepscope view shows the whole capture.`)))}document.body.replaceChildren(oe,J);M("session").then(a=>new Es(a)).catch(ae);})();
