"use strict";(()=>{function S(a){let[t,e]=a.split("."),n=t.replace(/\B(?=(\d{3})+$)/g,",");return e===void 0?n:n+"."+e}function et(a){if(a===0)return"0";let t=Math.floor(Math.log10(
Math.abs(a)));return Math.abs(a)>=Math.pow(10,t+1)*(1-5e-4)&&t++,S(a.toFixed(Math.min(Math.max(2-t,0),20)))}function es(a,t){let e=t[t.length-1];if(a===0)return"\
0 "+e[1];for(let[n,s]of t)if(Math.abs(a)/n>=.9995)return(n===1&&Number.isInteger(a)?S(String(a)):et(a/n))+" "+s;return et(a)+" "+e[1]}function g(a){return es(a,
[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function ns(a,t){let[e,n]=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]].find(([i])=>Math.abs(a)>=i)??[1,"ns"],s=Math.
min(Math.max(Math.ceil(Math.log10(e/t)-1e-9),0),9);return a===0?"0":S((a/e).toFixed(s))+" "+n}function ss(a){return es(a,[[1e12,"TB"],[1e9,"GB"],[1e6,"MB"],[1e3,
"kB"],[1,"B"]])}function _(a){return et(a*100)+" %"}function Qt(a){return Math.abs(a)<5e-4?"less than 0.1 %":_(a)}function O(a){return(a>0?"+":"")+g(a)}function K(a,t){
if(!(a>0))return[0];let e=a/t,n=Math.pow(10,Math.floor(Math.log10(e))),s=[1,2,5,10].find(r=>r*n>=e*.999)||10,i=[];for(let r=0;r<=a*1.0001;r+=s*n)i.push(r);return i}function Ni(){let{theme:a}=document.documentElement.dataset;return a==="dark"||a!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function nt(){let a=getComputedStyle(
document.documentElement),t=Ni()?2:1;return e=>/light-dark\(\s*([^,]+?)\s*,\s*([^)]+?)\s*\)/.exec(a.getPropertyValue("--"+e))?.[t]??"#888888"}var en=[];var G=class{constructor(t,e,n={}){this.height=e;this.canvas=typeof t=="string"?document.getElementById(t):t,this.left=n.left??58,this.bottom=n.bottom??22,this.canvas.
style.height=e+"px",en.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.width||this.draw())),this.sizes.observe(
this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),en.splice(en.indexOf(this),1)}area(){return{x:this.left,y:6,w:Math.
max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let t=this.canvas.clientWidth,e=window.devicePixelRatio||1;if(t===0)return;this.
width=t,this.canvas.width=Math.round(t*e),this.canvas.height=Math.round(this.height*e);let n=this.pen();n&&(this.paint(n),this.ground??=document.createElement("\
canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.mark(n),this.canvas.
dataset.drawn="1")}again(){let t=this.pen();if(!t||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();t.ctx.setTransform(1,0,0,1,0,0),t.ctx.clearRect(
0,0,this.canvas.width,this.canvas.height),t.ctx.drawImage(this.ground,0,0),this.mark({...t,ctx:this.sharp(t.ctx)})}sharp(t){let e=window.devicePixelRatio||1;return t.
setTransform(e,0,0,e,0,0),t}pen(){let t=this.canvas.getContext("2d");return t?(this.sharp(t).font="11px system-ui, sans-serif",{ctx:t,area:this.area(),color:nt()}):
null}paint(t){}mark(t){}yAxis({ctx:t,area:e,color:n},s,i){t.textAlign="right",t.textBaseline="middle";let r=Math.max(e.h/45,2),l=K(s,r);for(let h=r+1;l.length<3&&
h<r+6;h++)l=K(s,h);for(let h of l){let d=e.y+e.h*(1-h/s);t.fillStyle=n("line"),t.fillRect(e.x,Math.round(d),e.w,1),t.fillStyle=n("soft"),t.fillText(i(h),e.x-6,d)}}};
function is(){let a=document.getElementById("tip");if(a)return a;let t=document.createElement("div");return t.id="tip",t.setAttribute("role","status"),document.
body.appendChild(t)}function N(a,t,e,n){let s=is(),i=document.createElement("dl");for(let[m,c]of n.rows){let f=document.createElement("dt"),b=document.createElement(
"dd");f.textContent=m,b.textContent=c,i.append(f,b)}let r=document.createElement("strong");r.textContent=n.title,s.replaceChildren(r,i),s.hidden=!1;let l=a.getBoundingClientRect(),
h=s.getBoundingClientRect(),d=document.documentElement.clientWidth,u=l.left+t+14;u+h.width>d-8&&(u=Math.max(l.left+t-14-h.width,4));let p=l.top+e+14;p+h.height>
window.innerHeight-4&&(p=Math.max(l.top+e-14-h.height,4)),s.style.left=u+window.scrollX+"px",s.style.top=p+window.scrollY+"px"}function P(){is().hidden=!0}var wt=class{constructor(t,e=4){
this.cols=t;this.least=e;this.hi=Math.max(t,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(t){this.moved||=t,!this.pending&&
(this.pending=requestAnimationFrame(()=>{let e=this.moved;this.pending=0,this.moved=!1;for(let n of this.plots)e?n.draw():n.again();e&&this.whenMoved()}))}zoom(t,e){
let n=Math.min(Math.max(e-t,this.least),this.cols),s=(t+e)/2;this.lo=Math.min(Math.max(s-n/2,0),this.cols-n),this.hi=this.lo+n,this.changed(!0)}point(t){this.col=
t<0?-1:Math.min(t,this.cols-1);let e=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-e/2,this.col+.5+e/2),this.changed(
!1)}};function z(a,t){let e=document.createElement("span"),n=document.createElement("i");return e.className="key",n.style.background=`var(${a})`,e.append(n,t),e}function Zt({captures:a}){return[...new Map(a.flatMap(e=>e.beside.length>0?e.beside:[e]).map(e=>[e.id,e])).values()]}var I=class extends Error{constructor(e,n){
super(e);this.status=n}status},nn=class a{constructor(t){this.blocks=t;this.index=this.block(0).then(e=>new Map(JSON.parse(new TextDecoder().decode(e)).map(([n,
...s])=>[n,s])))}blocks;static mostOpen=8;open=new Map;index;block(t){let e=this.open.get(t);if(e===void 0){let n=Uint8Array.from(atob(this.blocks[t]),s=>s.charCodeAt(
0));e=new Response(new Blob([n]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer()}else this.open.delete(t);this.open.set(t,e);for(let n of this.
open.keys()){if(this.open.size<=a.mostOpen)break;this.open.delete(n)}return e}async answer(t){let e=(await this.index).get(t);if(e===void 0)throw new I("This is\
 not part of an exported page: open the capture with stepscope view.",404);return(await this.block(e[0])).slice(e[1],e[1]+e[2])}},qt=(a=>a===null?null:new nn(JSON.
parse(a.textContent??"[]")))(document.getElementById("answers"));function rn(a,t={}){let e=new URLSearchParams;for(let s of Object.keys(t).sort()){let i=t[s];for(let r of Array.
isArray(i)?i:[i])r!=null&&r!==""&&e.append(s,String(r))}let n=e.toString();return"api/"+a+(n===""?"":"?"+n)}var sn=0,rs=()=>{};function as(a){rs=a}async function pt(a){
sn++;try{return await a}finally{setTimeout(()=>{--sn===0&&rs()})}}function Nt(){return sn===0}async function an(a,t){let e;try{e=await fetch(a,t)}catch(i){throw t.
signal?.aborted?i:new I("stepscope does not answer: has it stopped?",0)}if(e.ok)return e;let n=await e.text(),s=n;try{s=JSON.parse(n).error}catch{}throw new I(s,
e.status)}function M(a,t={},e){let n=rn(a,t);return pt((async()=>qt!==null?JSON.parse(new TextDecoder().decode(await qt.answer(n))):await(await an(n,e?{signal:e}:
{})).json())())}function te(a,t={},e){let n=rn(a,t);return pt((async()=>qt!==null?qt.answer(n):await(await an(n,e?{signal:e}:{})).arrayBuffer())())}function on(a,t){
if(qt!==null)return Promise.reject(new I("an exported page has no server behind it",404));let e={method:"POST",headers:{"Content-Type":"application/json"},body:JSON.
stringify(t)};return pt((async()=>await(await an(rn(a),e)).json())())}function o(a,t=null,...e){let n=document.createElement(a);for(let[s,i]of Object.entries(t??{}))if(!(i==null||i===!1))if(s==="on")for(let[r,l]of Object.entries(i))
n.addEventListener(r,l);else s==="data"?Object.assign(n.dataset,i):s==="class"?n.className=String(i):n.setAttribute(s,i===!0?"":String(i));return os(n,...e),n}function os(a,...t){
for(let e of t)e==null||e===!1||a.append(typeof e=="number"?String(e):e)}function y(a,...t){a.replaceChildren(),os(a,...t)}var Oi={ArrowLeft:"←",ArrowRight:"→",ArrowUp:"↑",ArrowDown:"↓",Escape:"Esc"," ":"Space",Enter:"Enter"};function zi(a){return(a==="+"?[a]:a.split("+")).map(
t=>Oi[t]??t).join(" + ")}var ee=class{bindings=[];dialog=null;constructor(){addEventListener("keydown",t=>this.press(t)),this.bind("?","Everywhere","show the ke\
ys",()=>this.show())}bind(t,e,n,s){let i={keys:t===" "?[" "]:t.split(" "),help:n,group:e,run:s};return this.bindings.push(i),()=>{this.bindings=this.bindings.filter(
r=>r!==i)}}press(t){if(t.defaultPrevented||this.dialog?.open)return;let e=t.target;if(e instanceof HTMLInputElement&&!["checkbox","radio","button","range"].includes(
e.type)||e instanceof HTMLSelectElement||e instanceof HTMLTextAreaElement){t.key==="Enter"&&e.type==="search"&&e.blur(),t.key==="Escape"&&(e.type==="search"&&e.
value!==""&&(e.value="",e.dispatchEvent(new Event("input"))),e.blur());return}if(e instanceof HTMLInputElement&&e.type==="range"&&t.key.startsWith("Arrow"))return;
let s=(t.ctrlKey||t.metaKey?"Ctrl+":"")+(t.altKey?"Alt+":"")+(t.shiftKey&&t.key.length>1?"Shift+":"")+t.key,i=this.bindings.findLast(r=>r.keys.includes(s));i!==
void 0&&(t.preventDefault(),i.run(t))}show(){this.dialog??=document.body.appendChild(o("dialog",{class:"keys-dialog","aria-label":"Keys"}));let t=new Map;for(let e of this.
bindings)t.set(e.group,[...t.get(e.group)??[],e]);y(this.dialog,o("h2",null,"Keys"),o("div",{class:"keys-groups"},...[...t].map(([e,n])=>o("section",null,o("h3",
null,e),o("dl",null,...n.flatMap(s=>[o("dt",null,...s.keys.flatMap((i,r)=>[r>0&&" ",o("kbd",null,zi(i))])),o("dd",null,s.help)]))))),o("form",{method:"dialog"},
o("button",{class:"button"},"Close"))),this.dialog.showModal()}};function ls(a){let t=Object.create(null);for(let[e,n]of new URLSearchParams(a.replace(/^#/,"")))e!==""&&n!==""&&(t[e]=n);return t}function C(a){let t=Object.keys(
a).sort((e,n)=>+(n==="tab")-+(e==="tab")||(e<n?-1:1));return"#"+new URLSearchParams(t.map(e=>[e,a[e]])).toString()}function hs(a,t){let e=Object.assign(Object.create(
null),a);for(let[n,s]of Object.entries(t))s==null||s===""?delete e[n]:e[n]=typeof s=="number"?String(Math.round(s)):s;return e}function R(a,t,e){let n=a[t];return n!==
void 0&&/^-?\d{1,15}$/.test(n)?Number(n):e}function A(a,t){let e=Object.create(null);for(let n of["theme","c","run","vs","panel"])a[n]!==void 0&&(e[n]=a[n]);return hs(
e,t)}var ne=class{listeners=[];params=ls(location.hash);constructor(){addEventListener("hashchange",()=>this.take(ls(location.hash)))}follow(t){this.listeners.push(
t)}set(t,e="replace"){this.go(hs(this.params,t),e)}go(t,e="push"){let n=C(t);n!==C(this.params)&&(e==="push"?history.pushState(null,"",n):history.replaceState(null,
"",n),this.take(t))}take(t){let e=this.params;this.params=t;for(let n of this.listeners)n(t,e)}};function xt(a){let t=["decode","prefill","mixed","other","idle"].indexOf(a);return"k"+(t<0?3:t)}function ut(a,t){let e=a.filter(n=>n>0).sort((n,s)=>n-s);return e.
length?e[Math.floor(t*(e.length-1))]:0}var st=class extends G{constructor(e,n,s,i,r,l=28){super(e,n,{left:r,bottom:l});this.data=s;this.view=i;this.grid=s.grid,
i.plots.push(this),this.listen()}data;view;grid;x(e,n){return n.x+(e-this.view.lo)/(this.view.hi-this.view.lo)*n.w}colAt(e){let n=this.area();return this.view.lo+
(e-n.x)/n.w*(this.view.hi-this.view.lo)}colOf(e){let{first:n,last:s}=this.grid,i=0,r=n.length-1;for(;i<r;){let l=i+r+1>>1;n[l]<=e?i=l:r=l-1}return n.length&&n[i]<=
e&&e<=s[i]?i:-1}stepName(e){let n=this.grid,s=n.kind[e]<0?"several kinds":this.data.kinds[n.kind[e]];return(n.first[e]===n.last[e]?"step "+n.first[e]:`steps ${n.
first[e]}–${n.last[e]}`)+", "+s}xAxis({ctx:e,area:n,color:s}){let i=this.grid,r=this.view,l=n.y+n.h,h=Math.max(Math.floor(r.lo),0),d=Math.min(Math.ceil(r.hi),
i.cols);if(this.data.kinds.length>1)for(let f=h;f<d;f++){let b=Math.max(this.x(f,n),n.x),x=Math.min(this.x(f+1,n),n.x+n.w);e.fillStyle=s(i.kind[f]<0?"k4":xt(this.
data.kinds[i.kind[f]])),e.fillRect(b,l+3,Math.max(x-b-(x-b>3?1:0),.5),4)}e.textAlign="center",e.textBaseline="top",e.fillStyle=s("soft");let u=(d-h)*i.bucket,p=K(
u,Math.max(n.w/70,2)),m=Math.max(Math.round(p.length>1?p[1]:1),1),c=-1/0;for(let f=h;f<d;f++){let b=Math.ceil(i.first[f]/m)*m,x=this.x(f+(i.bucket===1?.5:(b-i.first[f])/
i.bucket),n);b>i.last[f]||x-c<30||x<n.x||x>n.x+n.w||(e.fillText(String(b),x,l+10),c=x)}}mark({ctx:e,area:n,color:s}){let i=this.view.col;if(i<this.view.lo-1||i>
this.view.hi)return;let r=Math.max(this.x(i,n),n.x),l=Math.min(this.x(i+1,n),n.x+n.w);i<0||l<=r||(e.strokeStyle=s("mark"),e.globalAlpha=.7,e.strokeRect(r+.5,n.y+
.5,Math.max(l-r-1,1),n.h-1),e.globalAlpha=1)}tip(e,n){return null}tipAt(e,n){return null}rowAt(e){return 0}rows(){return 1}point(e,n,s,i){this.rows()>1&&(this.view.
row=n),this.view.point(e);let r=s!==void 0&&i!==void 0&&this.tipAt(s,i)||this.tip(this.view.col,n),l=this.area();if(!r)return P();N(this.canvas,s??this.x(this.view.
col+.5,l),i??l.y+l.h*(n+.5)/this.rows(),r)}onpick=null;listen(){let e=this.canvas,n=this.view,s=NaN;e.addEventListener("pointerdown",i=>{s=i.offsetX}),e.addEventListener(
"pointermove",i=>{let r=Math.floor(this.colAt(i.offsetX));if(r<0||r>=this.grid.cols||i.offsetX<this.left)return this.leave();this.point(r,this.rowAt(i.offsetY),
i.offsetX,i.offsetY)}),e.addEventListener("pointerup",i=>{if(Math.abs(i.offsetX-s)>8){let r=this.colAt(s),l=this.colAt(i.offsetX);n.zoom(Math.min(r,l),Math.max(
r,l))}else n.col>=0&&this.onpick?.(n.col,this.rowAt(i.offsetY));s=NaN}),e.addEventListener("pointerleave",()=>this.leave()),e.addEventListener("blur",()=>this.leave()),
e.addEventListener("dblclick",()=>n.zoom(0,n.cols)),e.addEventListener("keydown",i=>{this.key(i.key,i.shiftKey)&&i.preventDefault()})}leave(){P(),this.view.point(
-1)}key(e,n){let s=this.view,i=s.col<0?Math.floor(s.lo):s.col,r=s.col<0?(s.lo+s.hi)/2:s.col+.5,l=(s.hi-s.lo)/2,h=n?10:1,d=this.rows()>1?s.row:0;switch(e){case"A\
rrowLeft":return this.point(Math.max(i-h,0),d),!0;case"ArrowRight":return this.point(Math.min(s.col<0?i:i+h,s.cols-1),d),!0;case"ArrowUp":case"ArrowDown":return this.
rows()<2?!1:(this.point(i,Math.min(Math.max(s.row+(e==="ArrowUp"?-h:h),0),this.rows()-1)),!0);case"Home":return this.point(0,d),!0;case"End":return this.point(s.
cols-1,d),!0;case"+":case"=":return s.zoom(r-l/2,r+l/2),!0;case"-":return s.zoom(r-l*2,r+l*2),!0;case"Enter":return!this.onpick||s.col<0?!1:(this.onpick(s.col,d),
!0);case"Escape":return this.leave(),s.zoom(0,s.cols),!0}return!1}};var se=class extends st{rank=-1;share=!1;values=[];constructor(t,e,n="bars"){super(n,240,t,e),this.pick(-1)}pick(t){let e=this.grid,n=this.data.ranks.length;this.
rank=t,this.values=e.parts.map(({ns:s})=>{if(t>=0)return s.slice(t*e.cols,(t+1)*e.cols);let i=new Array(e.cols).fill(-1);for(let r=0;r<e.cols;r++){let l=0,h=0;for(let d=0;d<
n;d++){let u=s[d*e.cols+r];u>=0&&(l+=u,h++)}h&&(i[r]=l/h)}return i})}total(t){return this.values.reduce((e,n)=>e+Math.max(n[t],0),0)}paint(t){let{ctx:e,area:n,color:s}=t,
i=this.view,r=Math.max(Math.floor(i.lo),0),l=Math.min(Math.ceil(i.hi),this.grid.cols),h=[];for(let f=r;f<l;f++)h.push(this.total(f));let d=Math.max(...h,1),u=ut(
h,.9),p=this.share?1:d>3*u&&u>0?u*1.3:d*1.05;this.yAxis(t,p,this.share?_:g),Ii("bars",!this.share&&d>p?d:0);let m=this.grid.parts.map(f=>s(f.name)),c=n.w/(i.hi-
i.lo)>=5?1:0;for(let f=r;f<l;f++){let b=Math.max(this.x(f,n),n.x),x=Math.min(this.x(f+1,n),n.x+n.w),v=h[f-r],w=0;for(let k=0;k<this.values.length;k++){let T=Math.
max(this.values[k][f],0)/(this.share&&v||1),E=Math.min(w+T,p);E>w&&(e.fillStyle=m[k],e.fillRect(b,n.y+n.h*(1-E/p),Math.max(x-b-c,.6),n.h*(E-w)/p)),w=E}if(!this.
share&&v>p){let k=(b+x-c)/2;e.fillStyle=s("mark"),e.beginPath(),e.moveTo(k-4,n.y+7),e.lineTo(k+4,n.y+7),e.lineTo(k,n.y+1),e.fill()}}this.xAxis(t)}tip(t){let e=this.
rank<0?"mean over ranks":this.data.ranks[this.rank],n=this.total(t),s=[["total",g(Math.round(n))]];return this.grid.parts.forEach((i,r)=>{let l=Math.max(this.values[r][t],
0);l>0&&s.push([yt(i.name),`${g(Math.round(l))} · ${_(l/(n||1))}`])}),{title:`${this.stepName(t)}, ${e}`,rows:s}}};function Ii(a,t){let e=document.getElementById(
"cut-"+a),n=t?`▼ cut: up to ${g(Math.round(t))}`:"";e&&e.textContent!==n&&(e.textContent=n)}function yt(a){return["compute","transfer","wait","unrecorded","co\
py"].includes(a)?a:"idle: "+a}function ct(a,t,e){let n=document.createElement("span"),s=a.filter(r=>r.ns>0),i=s.reduce((r,l)=>r+l.ns,0);n.className="bar wide",n.
role="img",n.ariaLabel=n.title=s.map(e).join(", "),n.style.width=t*100+"%";for(let r of s){let l=n.appendChild(document.createElement("i"));l.className="s-"+r.name,
l.style.width=r.ns/i*100+"%"}return n}function H(a){return[parseInt(a.slice(1,3),16),parseInt(a.slice(3,5),16),parseInt(a.slice(5,7),16)]}function F(a,t){let e=Math.min(Math.max(t,0),1)*(a.length-1),
n=Math.min(Math.floor(e),a.length-2),s=e-n;return a[n].map((i,r)=>Math.round(i+(a[n+1][r]-i)*s))}function hn(a,t,e){let n=[],s=0;for(let i=0;i<t;i++){let r=[];for(let l=e>
2?1:0;l<e;l++)r.push(Math.abs(a[i*e+l]));for(let l of r)n.push(l);s=Math.max(s,ut(r,.9))}return Math.max(s,ut(n,.98))}function dn(a,t,e,n){let s=0,i=0;for(let d=0;d<
a.length;d++)a[d]>s&&(s=a[d]),a[d]<i&&(i=a[d]);let r=t*1.0005,l=e?"+":"",h=[];return s>r&&h.push("up to "+l+n(s)),i<-r&&h.push("down to "+n(i)),[(i<-r?"≤ ":"")+
(e?n(-t):"0"),(s>r?"≥ ":"")+l+n(t),h.length>0?"; cut: "+h.join(", "):""]}var ln=9,ie=class extends st{constructor(e,n,s,i,r,l){let h=n.ranks.length,d=Math.max(
Math.min(Math.floor(240/h),24),4);super(e,h*d+34,n,s,Math.max(64,10+7.5*Math.max(...n.ranks.map(u=>Math.min(u.length,ln)))));this.what=i;this.scale=l;this.values=
n.grid[i],this.both=i!=="wait",this.limit=Math.max(this.usual(),r,1),this.drawScale()}what;scale;values;both;limit;only=-1;usual(){return hn(this.values,this.rows(),
this.grid.cols)}rows(){return this.data.ranks.length}rowAt(e){let n=this.area();return Math.min(Math.max(Math.floor((e-n.y)/n.h*this.rows()),0),this.rows()-1)}drawScale(){
let e=this.scale;if(!e)return;let n=document.createElement("i");n.style.background=this.both?"linear-gradient(to right, var(--under), var(--cold), var(--warm), \
var(--hot))":"linear-gradient(to right, var(--cold), var(--warm), var(--hot))";let[s,i,r]=dn(this.values,this.limit,this.both,g);e.replaceChildren(s,n,i+r)}paint(e){
let{ctx:n,area:s,color:i}=e,r=this.grid,l=this.view,h=this.rows(),d=[H(i("cold")),H(i("warm")),H(i("hot"))],u=[H(i("cold")),H(i("under"))],p=i("panel"),m=s.h/h,
c=Math.max(Math.floor(l.lo),0),f=Math.min(Math.ceil(l.hi),r.cols),b=s.w/(l.hi-l.lo)>=5?1:0,x=m>=8?1:0;for(let v=0;v<h;v++)for(let w=c;w<f;w++){let k=v*r.cols+w,
T=Math.max(this.x(w,s),s.x),E=Math.min(this.x(w+1,s),s.x+s.w);if(r.parts[0].ns[k]<0)n.fillStyle=p;else{let $=this.values[k]/this.limit,[B,q,dt]=$<0?F(u,-$):F(d,
$);n.fillStyle=`rgb(${B},${q},${dt})`}n.fillRect(T,s.y+v*m,Math.max(E-T-b,.6),Math.max(m-x,1))}this.labels(e,m),this.xAxis(e),this.outline(e,m)}labels({ctx:e,area:n,
color:s},i){e.textAlign="right",e.textBaseline="middle";let r=Math.ceil(12/i),l=new Set(this.data.findings.flatMap(h=>h.kind==="straggler"?h.ranks:[]));this.data.
ranks.forEach((h,d)=>{if(d%r!==0&&!l.has(d)||d%r===0&&r>1&&[...l].some(p=>p!==d&&Math.abs(p-d)<r))return;e.fillStyle=s(l.has(d)?"text":"soft");let u=h.length>ln?
h.slice(0,ln-1)+"…":h;e.fillText(u,n.x-6,n.y+(d+.5)*i)})}outline({ctx:e,area:n,color:s},i){e.save(),e.beginPath(),e.rect(n.x-2,n.y-2,n.w+4,n.h+4),e.clip(),e.strokeStyle=
s("mark"),e.lineWidth=1.5;for(let[r,l]of this.data.findings.entries()){if(l.first<0||(this.only>=0?r!==this.only:l.kind!=="straggler")||this.only<0&&(this.what===
"work"&&l.cause==="host"||this.what==="host"&&l.cause!=="host"))continue;let h=this.colOf(l.first),d=this.colOf(l.last);if(h<0)continue;let u=this.x(h,n),p=this.
x((d<0?this.grid.cols-1:d)+1,n);for(let m of l.ranks)e.strokeRect(u-.5,n.y+m*i-.5,p-u,i)}e.restore()}mark({ctx:e,area:n,color:s}){let i=n.h/this.rows(),r=this.view.
col;r<0||r+1<this.view.lo||r>this.view.hi||(e.strokeStyle=s("mark"),e.globalAlpha=.45,e.strokeRect(this.x(r,n),n.y,Math.max(this.x(r+1,n)-this.x(r,n),1),n.h),e.
globalAlpha=1,e.lineWidth=2,e.strokeRect(this.x(r,n),n.y+this.view.row*i,Math.max(this.x(r+1,n)-this.x(r,n)-1,1),i-1),e.lineWidth=1)}tip(e,n){let s=this.grid,i=n*
s.cols+e,r=`${this.data.ranks[n]}, ${this.stepName(e)}`;if(s.parts[0].ns[i]<0)return{title:r,rows:[["this rank lacks the step",""]]};let l=s.parts[0].ns[i];return{
title:r,rows:[["own work",g(l)],["beyond the median rank",O(s.work[i])],["host gap beyond the median",O(s.host[i])],["waited",g(s.wait[i])],...s.batch[e]>=0?[["\
batch",String(s.batch[e])]]:[],...s.tokens[e]>=0?[["tokens",String(s.tokens[e])]]:[]]}}};function ds(a,t){let{parts:e}=a.grid,n=e[0].ns.length;if(t==="work")return ut(
e[0].ns,.5)*.1;let s=[];for(let i=0;i<n;i++)s.push(e.reduce((r,l)=>r+Math.max(l.ns[i],0),0));return ut(s,.5)*.1}function it(a){let t=new Map;for(let e of(a??"").split("|")){let n=e.replaceAll("%7C","|").replaceAll("%25","%"),s=n.lastIndexOf("=");s>0&&t.set(n.slice(0,s),n.
slice(s+1))}return t}function X(a){let t=Ot(a).map(e=>e.replaceAll("%","%25").replaceAll("|","%7C"));return t.length>0?t.join("|"):null}function Ot(a){return[...a].
map(([t,e])=>t+"="+e)}function zt(a,t,e){let n=new Map(a);return n.delete(t),e!=="1"&&n.set(t,e),n}function U(a,t){return a===""?t:a+"."+t}function rt(a){return a===
"peers"?"like its peers":a==="0"?"removed":Number(a)===1?"unchanged":"× "+Number(a)}function Y(a){return X(new Map(a.set.map(t=>[t.slice(0,t.lastIndexOf("=")),t.slice(t.lastIndexOf("=")+1)])))??""}function re(a){return[...it(Y(a))].map(([t,e])=>`${t}\
 ${rt(e)}`).join(", ")}function ae(a,{exported:t}){return t===null||a.set.length===1&&t.whatif.includes(a.set[0])}function oe(a,t){let e=new Set(a.set.map(s=>t.
findIndex(i=>s.startsWith(i+".")))),[n]=e;return e.size===1&&n>=0?n:null}var kt=[["work","own work beyond the median rank"],["host","host gap beyond the median rank"],["wait","waiting for other ranks"]];function pn(a,t){let e=a.end_ns-
a.start_ns,n=a.span>=0?{sel:a.span}:{r0:a.start_ns,r1:a.end_ns};return{tab:"timeline",step:a.step<0?null:a.step,rank:a.rank,t0:a.start_ns-e,t1:a.end_ns+e,find:t.
id,...n}}var un=class{constructor(t){this.context=t;let{keys:e,store:n}=t,s=i=>{let r=this.overview?.findings.length??0;r>0&&n.set({sel:Math.min(Math.max(R(n.params,
"sel",-1)+i,0),r-1)})};e.bind("j ArrowDown","Summary","next finding",()=>s(1)),e.bind("k ArrowUp","Summary","previous finding",()=>s(-1)),e.bind("Enter","Summar\
y","show the finding in the timeline",()=>{let i=this.overview?.findings[R(n.params,"sel",-1)];i?.at&&n.go(A(n.params,pn(i.at,i)))}),e.bind("m","Summary","next \
measure of the map",()=>{let i=kt.findIndex(([r])=>r===this.measure());n.set({map:kt[(i+1)%kt.length][0]})}),M("summary",{c:n.params.c}).then(i=>{this.overview=
i,this.show(i)})}context;el=o("div",{class:"summary"});plots=[];steps=null;map=null;overview=null;shown=null;marked(){let t=R(this.context.store.params,"sel",-1),
e=this.overview;return e.findings[t]!==void 0?t:e.chart.findings.findIndex(n=>n.first>=0&&n.ranks.length>0)}first(){return this.overview?.findings[R(this.context.
store.params,"sel",-1)]?.measure??this.context.capture.map}measure(){let t=this.context.store.params.map;return kt.some(([e])=>e===t)?t:this.first()}link(t,...e){
return o("a",{href:C(A(this.context.store.params,t))},...e)}show(t){let e=t.chart.grid.cols>0,n=t.caveat!==""&&o("p",{class:"caveat"},o("strong",null,"Incomplet\
e: "),t.caveat);y(this.el,o("section",{class:"answer-line"},t.no_fault&&n,...t.watched.map(s=>o("div",{class:"watch"},o("p",{class:"verdict"},s.says),s.more.length>
0&&o("details",null,o("summary",null,"what the watch saw"),o("pre",null,s.more.join(`
`))))),t.verdict!==""&&o("p",{class:t.watched.length>0?"in-window":"verdict"},t.watched.length>0&&"In this window: ",t.verdict),o("p",{class:"facts"},t.head.join(
" · ")),!t.no_fault&&n),o("section",{class:"found","aria-label":"Findings"},o("h2",null,"Findings"),...t.findings.map((s,i)=>this.finding(t,s,i)),t.findings.length===
0&&o("p",{class:"soft"},"Nothing stands out."),...t.says.map(s=>o("p",{class:"note"},s))),o("div",{class:"seen"},o("section",{"aria-label":"Where the time goes"},
this.times(t)),e&&o("section",{"aria-label":"Steps"},...this.strips(t))),t.left_out.length>0&&o("details",{class:"left"},o("summary",null,"Not shown in this vie\
w"),o("ul",null,...t.left_out.map(s=>o("li",null,s))))),this.plot(t),this.select()}finding(t,e,n){let i=e.evidence.map(r=>o("li",null,r.text,r.short!==""&&o("co\
de",{title:r.name},r.short),r.kernel&&!r.name.includes(`
`)&&this.link({tab:"kernels",q:r.name},"kernel"),r.at&&this.link(pn(r.at,e),r.at.step<0?"timeline":"step "+r.at.step)));return o("article",{class:"finding sev-"+
e.severity,data:{finding:String(n)},on:{click:()=>this.context.store.set({sel:n})}},o("header",null,o("span",{class:"severity"},e.severity),o("span",{class:"cos\
t"},e.cost)),o("h3",null,e.title),o("p",{class:"chips"},...e.ranks.slice(0,6).map(r=>o("span",{class:"chip"},t.chart.ranks[r]??"#"+r)),e.ranks.length>6&&o("span",
{class:"chip"},`and ${e.ranks.length-6} more`),e.steps!==""&&o("span",{class:"chip"},e.steps),e.cause!==""&&o("span",{class:"chip"},"cause: "+e.cause),e.passing&&
o("span",{class:"chip"},"transient"),o("span",{class:"space"}),e.what_if.length>0&&ae({finding:e.title,set:e.what_if},this.context.session)&&this.whatIf({finding:e.
title,set:e.what_if}),e.at&&o("span",{class:"go"},this.link(pn(e.at,e),"Show in the timeline"))),i.length>0&&o("ul",{class:"evidence"},...i.slice(0,3)),i.length>
3&&o("details",null,o("summary",null,`and ${i.length-3} more`),o("ul",{class:"evidence"},...i.slice(3))),(e.next.length>0||e.guide!=="")&&o("ul",{class:"next"},
...e.next.map(r=>o("li",null,r)),e.guide!==""&&o("li",null,"More on this: ",o("code",null,"stepscope guide "+e.guide))))}whatIf(t){return this.link({tab:"whatif",
set:Y(t),rank:oe(t,this.context.capture?.ranks??[])},"What if")}times(t){let e=[...new Set(t.times.map(h=>h.kind))],n=e.includes(this.context.store.params.kind??
"")?this.context.store.params.kind:e.includes("all")?"all":e[0],s=t.times.filter(h=>h.kind===n&&(h.rank>=0||t.chart.ranks.length>1)),i=t.parts.filter((h,d)=>s.some(
u=>u.parts[d]>0)),r=Math.max(...s.map(h=>h.per_step_ns),1),l=o("select",{"aria-label":"Steps of kind",on:{change:()=>this.context.store.set({kind:l.value==="all"?
null:l.value})}},...e.map(h=>o("option",{value:h,selected:h===n},h==="all"?"all steps":h)));return o("div",{class:"times"},o("h2",null,"Where the time goes",o("\
span",{class:"space"}),e.length>2&&l),o("div",{class:"split",role:"table","aria-label":"Time of a mean step by rank"},...s.map(h=>o("div",{role:"row",class:h.rank<
0?"all":""},o("span",{role:"rowheader"},h.rank<0?"all ranks":t.chart.ranks[h.rank]??"#"+h.rank),o("span",{role:"cell",class:"track"},this.split(t,h,r)),o("span",
{role:"cell",class:"number"},g(h.per_step_ns))))),o("p",{class:"keys"},...i.map(h=>z("--"+h,yt(h)))),o("ul",{class:"explained"},...t.colours.filter(h=>h.kind===
n).map(h=>o("li",null,z("--"+h.part,""),o("span",null,h.text,h.finding>=0&&o("a",{href:C({...this.context.store.params,sel:String(h.finding)})},"finding"))))))}split(t,e,n){
let s=t.parts.map((i,r)=>({name:i,label:yt(i),ns:e.parts[r]}));return ct(s,e.per_step_ns/n,i=>`${i.label} ${_(i.ns/e.total_ns)}`)}strips(t){let e=o("span",{class:"\
tools",role:"group","aria-label":"Measure"},...kt.map(([n,s])=>o("button",{class:"choice","aria-pressed":String(n===this.measure()),data:{measure:n},title:s,on:{
click:()=>this.context.store.set({map:n===this.first()?null:n})}},n)));return[t.chart.ranks.length>1&&o("figure",null,o("figcaption",null,o("span",null,"Ranks ×\
 steps: ",o("span",{class:"measure"})),o("span",{class:"scale"}),e),o("canvas",{id:"map",tabindex:"0",role:"img","aria-label":"Heat map, ranks by steps: arrows \
move, Enter opens the timeline there"})),o("figure",null,o("figcaption",null,o("span",null,"Time of each step"),o("span",{class:"scale",id:"cut-bars"})),o("canv\
as",{id:"bars",tabindex:"0",role:"img","aria-label":"Stacked bars, where the time of each step goes: arrows move, Enter opens the timeline there"}))]}plot(t){for(let r of this.
plots.splice(0))r.drop();if(this.map=null,t.chart.grid.cols===0)return;let e=this.steps=new wt(t.chart.grid.cols),n=(r,l)=>{let h=t.chart.grid.first[r];this.context.
store.go(A(this.context.store.params,{tab:"timeline",step:h,rank:l,...this.around(t,h)}))},s=this.el.querySelector("#map");s&&this.draw(t,s,n);let i=new se(t.chart,
e,this.el.querySelector("#bars"));i.onpick=r=>n(r,0),this.plots.push(i),i.draw()}draw(t,e,n){let s=this.shown=this.measure(),i=e.cloneNode(!1);e.replaceWith(i),
this.map&&(this.steps.plots.splice(this.steps.plots.indexOf(this.map),1),this.plots.splice(this.plots.indexOf(this.map),1),this.map.drop()),this.map=new ie(i,t.
chart,this.steps,s,ds(t.chart,s),this.el.querySelector("figure .scale")),this.map.only=this.marked(),this.steps.row=t.chart.findings[this.map.only]?.ranks[0]??0,
this.map.onpick=n,this.plots.push(this.map),this.map.draw(),y(this.el.querySelector(".measure"),kt.find(([r])=>r===s)[1]);for(let r of this.el.querySelectorAll(
"[data-measure]"))r.ariaPressed=String(r.dataset.measure===s)}around(t,e){let n=t.chart.lengths,s=n.step.indexOf(e);return s<0?{}:{t0:n.at[s]-n.ns[s]/10,t1:n.at[s]+
n.ns[s]*1.1}}select(){let t=R(this.context.store.params,"sel",-1);for(let n of this.el.querySelectorAll("[data-finding]")){let s=n.dataset.finding===String(t);n.
classList.toggle("selected",s),s&&n.scrollIntoView({block:"nearest"})}let e=this.overview?.findings[t];!this.steps||!this.map||(this.map.only!==this.marked()&&(this.
map.only=this.marked(),this.map.draw()),e?.at&&(this.steps.row=e.at.rank,this.steps.point(this.map.colOf(e.at.step))))}update(t,e){let n=this.overview;if(!n)return;
t.kind!==e.kind&&this.el.querySelector(".times")?.replaceWith(this.times(n));let s=this.el.querySelector("#map");this.measure()!==this.shown&&s&&this.map?.onpick&&
this.draw(n,s,this.map.onpick),this.select()}restyle(){for(let t of this.plots)t.draw()}close(){for(let t of this.plots.splice(0))t.drop()}},cn={id:"summary",title:"\
Summary",needs:"capture",open:a=>new un(a)};function le(a){let t=[],e=[...new Set(a)].sort((n,s)=>n-s);for(let n=0,s=0;n<e.length;n++)e[n+1]!==e[n]+1&&(t.push(s===n?String(e[n]):`${e[s]}-${e[n]}`),s=n+1);
return t.join(",")}function ps(a,t){let e=new Set;for(let n of(a??"").split(",")){let s=/^(\d{1,9})(?:-(\d{1,9}))?$/.exec(n);if(s!==null)for(let i=Number(s[1]);i<=
Math.min(Number(s[2]??s[1]),t-1);i++)e.add(i)}return[...e]}function us(a,t,e,n){let s=Math.min(t,e),i=Math.max(t,e),r=[];for(let l of a.groups)for(let h of l.rows)
h.y<=i&&h.y+h.height>s&&r.push(h.row);return r.length>1||n?r:[]}function mt(a,t){let e=(a.t1-a.t0)/Math.max(t,1);return Math.min(Math.max(Math.ceil(Math.log2(e)),0),40)}function he(a,t){let e=512*2**t;return[Math.floor(a.t0/
e),Math.max(Math.ceil(a.t1/e)-1,Math.floor(a.t0/e))]}function Mt(a,t){let e=Math.max(t.t1-t.t0,50),n=Math.min(Math.max(a.t1-a.t0,50),e*1.5),i=(a.t0+a.t1)/2-n/2;
return n>=e*1.04?i=(t.t0+t.t1)/2-n/2:i=Math.min(Math.max(i,t.t0-n*.5),t.t1-n*.5),{t0:i,t1:i+n}}function cs(a,t,e,n){let s=a.t1-a.t0,i=Math.max(n.t1-n.t0,50)*1.5,
r=Math.min(Math.max(s*e,50),Math.max(i,s))/s;return Mt({t0:t-(t-a.t0)*r,t1:t+(a.t1-t)*r},n)}function de(a,t,e){let n=(a.t1-a.t0)*t;return Mt({t0:a.t0+n,t1:a.t1+
n},e)}function St(a,t,e,n,s=!1){let i=a.t1-a.t0;if(!s&&t>=a.t0+i*.02&&t+e<=a.t1-i*.02&&e>i/400)return a;let r=s||e>i||e<i/400?Math.max(e*(s?1.6:24),50):i,l=t+e/
2;return Mt({t0:l-r/2,t1:l+r/2},n)}function ms(a,t,e){let n=(a.t1-a.t0)*e/Math.max(t,1),s=10**Math.floor(Math.log10(n)),i=Math.max(([1,2,5,10].find(r=>r*s>=n*.999)??
10)*s,1);return{step:i,first:Math.ceil(a.t0/i)*i}}var mn=[{by:"wall",title:"wall clock",help:"by the clocks of the ranks"},{by:"step",title:"step start",help:"shifts each rank so that one step begins at the sam\
e position on all"},{by:"collective",title:"collective entry",help:"shifts each rank so that all enter one collective at the same position"},{by:"stretched",title:"\
stretched",help:"stretches each rank's time between collectives to that of the last rank to arrive"}];function fs(a,t,e){let n=R(a,t,NaN),s=R(a,e,NaN);return n<
s?{t0:n,t1:s}:null}function fn(a,t,e,n=a.steps){let s=1/0,i=-1/0;for(let r=t;r<=e;r++){let l=n[r];l===void 0||l.end_ns===0||(s=Math.min(s,l.start_ns),i=Math.max(
i,l.end_ns))}return s<i?Mt({t0:s-(i-s)*.06,t1:i+(i-s)*.06},pe(a)):null}function pe(a){return{t0:a.from_ns,t1:Math.max(a.to_ns,a.from_ns+1)}}function gn(a){let[t,
e]=a.window_ns;return{t0:t,t1:Math.max(e,t+1)}}function ue(a,t){let e=R(a,"step",-1),n=R(a,"rank",-1),s=fs(a,"t0","t1"),i=mn.some(d=>d.by===a.align)?a.align:"wa\
ll",r=t.findings.find(d=>d.id===a.find)??t.findings[0]??null,l=d=>Number.isInteger(d)&&d>=0&&d<t.ranks.length,h=(a.only??"").split(",").filter(d=>/^\d+$/.test(d)).
map(Number).filter(l);return{view:s!==null?Mt(s,pe(t)):fn(t,e,e)??gn(t),step:e<t.steps.length?e:-1,by:i==="stretched"&&!t.stretch||i==="step"&&(e<0||e>=t.steps.
length)?"wall":i,at:R(a,"at",0),only:[...new Set(h)],open:new Set((a.open??"").split(",").filter(d=>/^r?\d+$/.test(d))),rank:l(n)?n:-1,sel:l(n)?R(a,"sel",-1):-1,
range:fs(a,"r0","r1"),rows:ps(a.rows,t.rows.length),q:a.q??"",found:r,heat:a.heat??(t.ranks.length>1&&t.steps.length>1?a.find!==void 0&&r?.measure||t.measure:"o\
ff"),y:Math.max(R(a,"y",0),0),sort:a.sort??"-self"}}function gs(a){return a.flatMap(t=>{let e=new Set(t.ranks);return t.steps.map((n,s)=>({step:n,ranks:e,from:t.end_ns[s]-t.was[s],end:t.end_ns[s],would:t.end_ns[s]-
t.was[s]+t.would[s]}))}).sort((t,e)=>t.end-e.end)}function ce(a,{t0:t,t1:e}){return a.filter(n=>n.from<e&&Math.max(n.end,n.would)>t)}function bs(a){let t=new Map;
for(let e of a){let n=t.get(e.step);t.set(e.step,n===void 0?e:{...e,from:Math.min(e.from,n.from),end:Math.max(e.end,n.end),would:Math.max(e.would,n.would)})}return[
...t.values()].sort((e,n)=>e.end-n.end)}function Fi(a,t){let e=[];return a.forEach((n,s)=>{if(!t.has(n.rank))return;let i=e[e.length-1];i!==void 0&&s>0&&t.has(a[s-
1].rank)?i[1]=n.y+n.height:e.push([n.y,n.y+n.height])}),e}function vs(a,t,e,n){let s=[];for(let i of a)if(!(Math.abs(i.end-i.would)<e)){for(let[r,l]of Fi(t,i.ranks))
s.push({would:i.would,end:i.end,top:r,bottom:l});if(s.length>n)return[]}return s}function ws(a){let t=a.end-a.from,e=a.would-a.from;return{title:`step ${a.step}\
, with these changes`,rows:[["was",g(t)],["would be",g(e)],["change",It(t,e)]]}}function It(a,t){let e=t/Math.max(a,1)-1;return(e>0?"+":"")+_(e)}function bn(a,t){return a.role==="launches"||a.role==="thread"||a.role==="python"?Math.min(a.lanes,t<=2?6:t<=4?4:t<=8?2:1):Math.min(a.lanes,2)}function ft(a,t,e){
let n=[],s=[],i=e.length>0?e:a.ranks.map((h,d)=>d),r=new Map;a.rows.forEach((h,d)=>r.set(h.rank,[...r.get(h.rank)??[],d]));let l=0;for(let h of i){let d={rank:h,
y:l,height:0,rows:[],folded:0,open:t.has("r"+h)};l+=18;for(let u of r.get(h)??[]){let p=a.rows[u];if(!p.pinned&&!d.open){d.folded++;continue}let m=t.has(String(
u))?p.lanes:bn(p,i.length);d.rows.push({row:u,y:l,height:m*16,lanes:m});for(let c=0;c<m;c++)s.push({lane:p.lane+c,row:u,rank:h,y:l+c*16,height:15});l+=m*16+3}l+=
8,d.height=l-d.y,n.push(d)}return{groups:n,lanes:s,height:l}}function _t(a,t,e){let n=0,s=a.length;for(;n<s;){let r=n+s>>1;a[r].y+a[r].height<=t?n=r+1:s=r}let i=[];
for(let r=n;r<a.length&&a[r].y<e;r++)i.push(a[r]);return i}function xs(a,t){let e=new Set(a);return e.delete(t)||e.add(t),e}var Bi={compute:"compute",communication:"communication",launches:"launches",ranges:"ranges of",python:"Python of",profiler:"profiler"};function Ft(a){return Math.
min(220,Math.floor(a/4))}function ys(a,t,e,n,s,i){let r=[],l=(h,d)=>{h.style.top=d+"px",r.push(h)};for(let h of e.groups){let d=s!==null&&s.by!=="wall"&&s.by!==
"stretched"?s.moved_ns[h.rank]:0,u=s!==null&&s.by!=="wall"&&s.by!=="stretched"&&!s.known[h.rank]?"not moved":d!==0?"moved "+O(d):"",p=h.folded>0||h.open;l(o("di\
v",{class:"tl-rank"+(h.rank===n?" here":"")},o("span",null,t.ranks[h.rank]),p&&o("button",{"aria-expanded":String(h.open),title:(h.open?"Fold rows of ":"Unfold \
all rows of ")+t.ranks[h.rank],on:{click:()=>i("r"+h.rank)}},o("span",{"aria-hidden":"true"},h.open?"▾ ":"▸ "),h.open?"fewer":`${h.folded} more`),u!==""&&o(
"span",{class:"moved",title:u},u)),h.y);for(let m of h.rows){let c=t.rows[m.row],f=Bi[c.role],b=c.lanes>bn(c,e.groups.length),x=[f!==void 0&&o("b",null,f),(f!==
void 0?" ":"")+c.name,c.deeper>0&&` (${c.deeper} spans nested deeper)`],v=`${t.ranks[c.rank]}: ${f??""} ${c.name}, ${c.spans} spans in ${c.lanes} lane${c.lanes===
1?"":"s"}`,w=o("div",{class:"tl-row",title:v},b?o("button",{title:v,"aria-expanded":String(m.lanes===c.lanes),on:{click:()=>i(String(m.row))}},m.lanes===c.lanes?
"▾ ":"▸ ",...x):o("span",{class:"tl-name",title:v},...x));w.style.height=m.height+"px",l(w,m.y)}}y(a,...r)}function ks(a,t,e,n,s,i,r,l){let h=window.devicePixelRatio||
1,d=a.getContext("2d");a.width=Math.round(n*h),a.height=Math.round(s*h),d.setTransform(h,0,0,h,0,0),d.fillStyle=l;for(let u of t.groups){let p=u.y-e,m=i.get(u.rank);
if(m===void 0||p>s||p+18<0)continue;let c=n/m.length;m.forEach((f,b)=>{let x=Math.min(Math.abs(f)/Math.max(r,1),1)*13;x>.5&&d.fillRect(b*c,p+18-3-x,Math.max(c,1),
x)})}}function Di(a,t,e,n){let s=new Float64Array(a),i=s.subarray(0,e*n),r=s.subarray(e*n,(e+1)*n),l=new Float64Array(i.length);for(let h=0;h<i.length;h++)l[h]=t.beyond?
i[h]-r[h%n]:i[h];return{measure:t,values:i,median:r,shown:l,limit:Math.max(hn(l,e,n),t.floor,1)}}function ji(a,t,e,n,s){let i=new Float64Array(n*s).fill(NaN);for(let r=0;r<
t;r++){let l=Math.floor(r*n/t);for(let h=0;h<e;h++){let d=a[r*e+h],u=l*s+Math.floor(h*s/e);!Number.isNaN(d)&&!(Math.abs(i[u])>=Math.abs(d))&&(i[u]=d)}}return i}
function Ms(a,t,e,n){let s=[];for(let i=0;i<t;i++)Number.isNaN(a[i*e+n])||s.push([a[i*e+n],i]);return s.sort((i,r)=>i[0]-r[0]||i[1]-r[1]),s.length>0?s[s.length-
1>>1][1]:-1}var wn=16,me=class{constructor(t,e,n){this.head=t;this.events=e;this.redraw=n;this.ranks=t.ranks.length,this.steps=t.steps.length,this.el=o("div",{class:"\
tl-heat"},o("div",{class:"tl-heat-head"},o("span",{class:"tl-title"},"Ranks × steps"),this.choices,o("span",{class:"space"}),this.scale),o("div",{class:"tl-map"},
this.canvas,this.outlines,this.brushed,this.box)),this.listen()}head;events;redraw;el;canvas=o("canvas",{tabindex:"0",role:"img"});box=o("div",{class:"tl-cell",
hidden:!0});brushed=o("div",{class:"tl-brush",hidden:!0});outlines=o("div",{class:"tl-marked"});marked=null;scale=o("span",{class:"scale"});choices=o("span",{role:"\
group","aria-label":"Measure of the map"});ranks;steps;asked="";cells=null;at=null;shownSteps=[-1,-1];get measure(){return this.asked}async show(t){let e=this.head.
measures.find(s=>s.id===t);if(this.el.hidden=e===void 0||this.steps===0,y(this.choices,...this.head.measures.map(s=>o("button",{class:"choice","aria-pressed":String(
s.id===t),on:{click:()=>this.events.choose(s.id)}},s.title))),this.el.hidden||e===void 0||t===this.asked)return;this.asked=t;let n=await this.events.load(t);this.
asked===t&&(this.cells=Di(n,e,this.ranks,this.steps),this.redraw())}view(t,e){this.shownSteps=[t,e],this.place(this.brushed,t<0||t===0&&e===this.steps-1?null:{rank:0,
ranks:this.ranks,step:t,steps:e-t+1})}height(){return Math.min(Math.max(this.ranks*Math.min(Math.max(Math.floor(120/this.ranks),3),18),36),256)}area(){let t=Ft(
this.canvas.clientWidth);return{x:t,w:Math.max(this.canvas.clientWidth-t-8,10),h:this.height()}}place(t,e){if(t.hidden=e===null,e===null)return;let n=this.area();
t.style.left=n.x+e.step/this.steps*n.w-1+"px",t.style.width=Math.max(e.steps/this.steps*n.w,2)+1+"px",t.style.top=e.rank/this.ranks*n.h-1+"px",t.style.height=Math.
max(e.ranks/this.ranks*n.h,2)+1+"px"}paint(t){if(this.el.hidden)return;let e=this.height();this.canvas.style.height=e+wn+"px";let n=this.canvas.clientWidth,s=window.
devicePixelRatio||1;if(n===0)return;this.canvas.width=Math.round(n*s),this.canvas.height=Math.round((e+wn)*s);let i=this.canvas.getContext("2d",{alpha:!1});i.setTransform(
s,0,0,s,0,0),i.fillStyle=t.name("bg"),i.fillRect(0,0,n,e+wn),i.font="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",this.labels(i,t),this.cells!==
null&&this.map(i,t,this.cells),this.view(...this.shownSteps),this.mark()}mark(){let t=this.marked,e=[];if(t!==null){let n=t.ranks.slice().sort((s,i)=>s-i);for(let s=0,
i=0;s<n.length;s++){if(n[s+1]===n[s]+1)continue;let r=o("div",{class:"tl-found"});this.place(r,{rank:n[i],ranks:s-i+1,step:t.first,steps:Math.min(t.last,this.steps-
1)-t.first+1}),e.push(r),i=s+1}}y(this.outlines,...e)}labels(t,e){let n=this.area(),s=n.h/this.ranks,i=Math.ceil(12/s);t.fillStyle=e.name("soft"),t.textAlign="r\
ight",t.textBaseline="middle";for(let d=0;d<this.ranks;d+=i)t.fillText(this.head.ranks[d],n.x-8,(d+i/2)*s,n.x-20);t.textBaseline="top",t.textAlign="center";let r=Math.
max(Math.ceil(this.steps*44/n.w),1),l=10**Math.floor(Math.log10(r)),h=[1,2,5,10].map(d=>d*l).find(d=>d>=r)??r;for(let d=0;d<this.steps;d+=h)t.fillText(String(d),
n.x+(d+.5)/this.steps*n.w,n.h+4)}map(t,e,n){let s=this.area(),i=Math.min(this.ranks,s.h),r=Math.min(this.steps,Math.floor(s.w)),l=ji(n.shown,this.ranks,this.steps,
i,r),h=w=>H(e.name(w)),d=[h("cold"),h("warm"),h("hot")],u=[h("cold"),h("under")],p=t.createImageData(r,i),m=h("panel");for(let w=0;w<l.length;w++){let k=l[w]/n.
limit,[T,E,$]=Number.isNaN(k)?m:k<0?F(u,-k):F(d,k);p.data.set([T,E,$,255],4*w)}let c=document.createElement("canvas");if(c.width=r,c.height=i,c.getContext("2d").
putImageData(p,0,0),t.imageSmoothingEnabled=!1,t.drawImage(c,s.x,0,s.w,s.h),t.fillStyle=e.name("bg"),s.w/r>=6)for(let w=1;w<r;w++)t.fillRect(s.x+Math.round(w/r*
s.w)-1,0,1,s.h);if(s.h/i>=8)for(let w=1;w<i;w++)t.fillRect(s.x,Math.round(w/i*s.h)-1,s.w,1);let f=o("i",null);f.style.background=n.measure.beyond?"linear-gradie\
nt(to right, var(--under), var(--cold), var(--warm), var(--hot))":"linear-gradient(to right, var(--cold), var(--warm), var(--hot))";let[b,x,v]=dn(n.shown,n.limit,
n.measure.beyond,w=>this.text(w,n.measure));y(this.scale,b+" ",f," "+x+(n.measure.beyond?" beyond the median rank":"")+v),this.canvas.setAttribute("aria-label",
`Heat map of ${n.measure.title}, ${this.ranks} ranks by ${this.steps} steps: arrows move, Enter opens the step`)}text(t,e){return e.unit==="ns"?g(Math.round(t)):
S(String(Math.round(t)))}cellAt(t,e){let n=this.area(),s=Math.floor((t-n.x)/n.w*this.steps),i=Math.floor(e/n.h*this.ranks);return s>=0&&s<this.steps&&i>=0&&i<this.
ranks?{rank:i,step:s}:null}point(t){this.at=t,this.place(this.box,t&&{rank:t.rank,ranks:1,step:t.step,steps:1});let e=this.cells;if(t===null||e===null)return P();
let n=e.values[t.rank*this.steps+t.step],s=e.measure,i=this.head.steps[t.step],r=this.area();N(this.canvas,r.x+(t.step+.5)/this.steps*r.w,(t.rank+.5)/this.ranks*
r.h,{title:`${this.head.ranks[t.rank]}, step ${t.step}, ${i.kind}`,rows:Number.isNaN(n)?[["this rank lacks the step",""]]:[[s.title,this.text(n,s)],["median ran\
k",this.text(e.median[t.step],s)],["beyond it",s.unit==="ns"?O(Math.round(n-e.median[t.step])):this.text(n-e.median[t.step],s)]]})}listen(){let t=this.canvas,e=null,
n=s=>{let i=this.area();return this.cellAt(Math.min(Math.max(s,i.x),i.x+i.w-1),0)};t.addEventListener("pointerdown",s=>{e=s.offsetX,t.setPointerCapture(s.pointerId)}),
t.addEventListener("pointermove",s=>{let i=this.cellAt(s.offsetX,s.offsetY);if(this.point(i),e===null||Math.abs(s.offsetX-e)<6)return;let r=n(e),l=n(s.offsetX);
r!==null&&l!==null&&this.place(this.brushed,{rank:0,ranks:this.ranks,step:Math.min(r.step,l.step),steps:Math.abs(r.step-l.step)+1})}),t.addEventListener("pointe\
rup",s=>{let i=e===null?null:n(e),r=n(s.offsetX);if(e!==null&&Math.abs(s.offsetX-e)>=6&&i!==null&&r!==null)this.events.brush(Math.min(i.step,r.step),Math.max(i.
step,r.step));else{let l=this.cellAt(s.offsetX,s.offsetY);l!==null&&this.events.pick(l.rank,l.step)}e=null}),t.addEventListener("pointercancel",()=>{e=null,this.
point(null),this.view(...this.shownSteps)}),t.addEventListener("pointerleave",()=>this.point(null)),t.addEventListener("blur",()=>this.point(null)),t.addEventListener(
"keydown",s=>{let i=this.at??{rank:0,step:Math.max(this.shownSteps[0],0)},r={ArrowLeft:{...i,step:Math.max(i.step-1,0)},ArrowRight:{...i,step:this.at===null?i.step:
Math.min(i.step+1,this.steps-1)},ArrowUp:{...i,rank:Math.max(i.rank-1,0)},ArrowDown:{...i,rank:this.at===null?i.rank:Math.min(i.rank+1,this.ranks-1)}};if(r[s.key]!==
void 0)this.point(r[s.key]);else if(s.key==="Enter"&&this.at!==null)this.events.pick(this.at.rank,this.at.step);else if(s.key==="Escape")t.blur();else return;s.
preventDefault()})}};var xn=18,fe=class{constructor(t,e,n,s){this.run=t;this.capture=e;this.all=n;this.open().catch(i=>{if(!(i instanceof I)||i.status===0)throw i}).then(()=>s())}run;capture;all;canvas=o(
"canvas",{role:"img","aria-label":"Load: requests in progress, tokens per second, queue"});legend=o("div",{class:"legend"});el=o("div",{class:"tl-above tl-load",
hidden:!0},this.legend,this.canvas);lines=[];shift=0;rep=0;requests=null;async open(){let t=await M("load/steps",{run:this.run}),e=t.lanes.find(p=>p.capture===this.
capture&&p.from.length>0);if(e===void 0)return;[this.shift,this.rep]=[e.shift,t.rep];let n={run:this.run,rep:this.rep},s=Math.max(Math.floor(this.all.t0-this.shift),
0),i=Math.ceil(this.all.t1-this.shift);if(i<=s)return;let[r,l,h]=await Promise.all([M("load",n),M("load/timeline",{...n,from:s,to:i}),M("load/requests",{...n,from:s,
to:i})]);this.requests=h;let d=l.running.map((p,m)=>l.from_ns+m*l.bin_ns+this.shift);d.push((d[d.length-1]??this.shift)+l.bin_ns),this.lines=[{title:"requests i\
n progress",color:"strong",at:d,values:l.running,unit:""},{title:"tokens per second",color:"share",at:d,values:l.tokens.map(p=>p/l.bin_ns*1e9),unit:"/s"}];let u=r.
server.filter(p=>p.queued>=0);if(u.length>0){let p=u.map(m=>m.at+this.shift);this.lines.push({title:"in the server's queue",color:"medium",at:[...p,p[p.length-1]+
1e9],values:u.map(m=>m.queued),unit:""})}}during(t){let e=this.requests;if(e===null)return[];let n=t.t0-this.shift,s=t.t1-this.shift;return e.index.map((i,r)=>r).
filter(i=>e.sent[i]<s&&Math.max(e.done[i],e.sent[i])>n).sort((i,r)=>e.sent[i]-e.sent[r]).map(i=>e.index[i])}link(t,e,n){let s=Math.max(Math.round(e.t0-this.shift),
0);return C(A(t,{tab:"bench",run:this.run,rep:this.rep,b0:s,b1:Math.max(Math.round(e.t1-this.shift),s+1),req:n??null}))}paint(t,e,n,s){if(this.el.hidden=t===null||
this.lines.length===0,this.el.hidden||t===null)return;let i=this.lines.length*xn,r=window.devicePixelRatio||1,l=this.canvas.getContext("2d",{alpha:!1});this.canvas.
style.width=e+"px",this.canvas.style.height=i+"px",this.canvas.width=Math.round(e*r),this.canvas.height=Math.round(i*r),l.setTransform(r,0,0,r,0,0),l.fillStyle=
n.name("bg"),l.fillRect(0,0,e,i);let h=e/(t.t1-t.t0),d=this.during(t).length,u=this.lines.map((p,m)=>{let c=Math.max(...p.values,0),f=(m+1)*xn-1;return l.fillStyle=
n.name(p.color),p.values.forEach((b,x)=>{let v=Math.max((p.at[x]-t.t0)*h,0),w=Math.min((p.at[x+1]-t.t0)*h,e),k=b/Math.max(c,1e-9)*(xn-3);w>v&&k>0&&l.fillRect(v,
f-k,Math.max(w-v,.5),k)}),l.fillStyle=n.name("line"),l.fillRect(0,f,e,1),o("div",null,`${p.title}, up to ${Number.isInteger(c)||c>=1e3?S(String(Math.round(c))):
et(c)}${p.unit}`)});u[0].append(" · ",o("a",{href:this.link(s,t),title:"These requests in Benchmark, over the visible time"},String(d))),y(this.legend,...u)}};function at(a){return 2**Math.max(0,a-22)}var ge=new Uint32Array(0),Ss=new Uint8Array(0);function _s(a,t){let e=new DataView(a);if(a.byteLength<32||e.getUint32(
0,!1)!==1397969996||e.getUint16(4,!0)!==1)throw new Error("these are not tiles of this version");if(e.getUint32(8,!0)!==t)throw new Error("the server shows anot\
her capture now: reload the page");let n=e.getUint32(12,!0),s=[];for(let i=0;i<n;i++){let r=32+16*i,l=e.getUint32(r+8,!0),h=e.getUint32(r+12,!0),d=h&2147483647,
u=l===0?16:16+3*512+(18*d+7&-8),p={lane:e.getUint32(r,!0),index:e.getInt32(r+4,!0),bytes:u,whole:h>>>31===1,strip:null,pieces:d,start:ge,width:ge,span:ge,name:ge,
class:Ss,flags:Ss};if(l!==0){let m=a.slice(l,l+u-16);p.strip={class:new Uint8Array(m,0,512),covered:new Uint8Array(m,512,512),waited:new Uint8Array(m,2*512,512)};
let c=f=>new Uint32Array(m,3*512+4*d*f,d);p.start=c(0),p.width=c(1),p.span=c(2),p.name=c(3),p.class=new Uint8Array(m,3*512+16*d,d),p.flags=new Uint8Array(m,3*512+
17*d,d)}s.push(p)}return s}var Ui=16,Tt=40,be=class{constructor(t,e,n){this.canvas=t;this.tiles=e;this.ctx=t.getContext("2d",{alpha:!1});let s=n.ranks.map((r,l)=>n.rows.find(h=>h.rank===l&&
h.role==="compute")??n.rows.find(h=>h.rank===l)),i=Math.max(Math.ceil(s.length/Ui),1);s.forEach((r,l)=>{r!==void 0&&l%i===0&&this.lanes.push(r.lane)})}canvas;tiles;ctx;ground=document.
createElement("canvas");drawn="";lanes=[];needs(t,e){let n=mt(t,e),[s,i]=he(t,n);return{level:n,needs:this.lanes.map(r=>({lane:r,from:s,to:i}))}}paint(t,e,n,s){
let{ctx:i,canvas:r}=this,l=window.devicePixelRatio||1,{level:h,needs:d}=this.needs(t,n),u=this.tiles.of(h,!1),m=`${d.flatMap(b=>Array.from({length:b.to-b.from+1},
(x,v)=>u(b.lane,b.from+v))).filter(b=>b!==void 0).length} ${n} ${l} ${s.name("bg")} ${t.t0}`;m!==this.drawn&&(this.drawn=m,r.width=this.ground.width=Math.round(
n*l),r.height=this.ground.height=Math.round(Tt*l),this.strips(t,s,h,d,u)),i.setTransform(1,0,0,1,0,0),i.drawImage(this.ground,0,0),i.setTransform(l,0,0,l,0,0);let c=(e.
t0-t.t0)/(t.t1-t.t0)*n,f=(e.t1-t.t0)/(t.t1-t.t0)*n;i.fillStyle=s.name("bg"),i.globalAlpha=.6,i.fillRect(0,0,Math.max(c,0),Tt),i.fillRect(Math.min(f,n),0,n,Tt),i.
globalAlpha=1,i.strokeStyle=s.name("strong"),i.lineWidth=1.5,i.strokeRect(Math.max(c,0)+.75,.75,Math.max(Math.min(f,n)-Math.max(c,0)-1.5,2),Tt-1.5)}strips(t,e,n,s,i){
let r=this.ground.getContext("2d",{alpha:!1}),l=this.ground.width,h=this.ground.height,d=r.createImageData(l,h),u=new Uint32Array(d.data.buffer),p=Uint8Array.from(
[1,3,5].map(b=>parseInt(e.name("panel").slice(b,b+2),16))),m=h/Math.max(s.length,1),c=(t.t1-t.t0)/l,f=2**n;for(let b=0;b<s.length;b++){for(let x=0;x<l;x++){let v=Math.
floor((t.t0+(x+.5)*c)/f),w=Math.floor(v/512),k=i(s[b].lane,w)?.strip??null,T=v-w*512,[E,$,B]=p;if(k!==null&&k.class[T]!==0){let D=(30+k.covered[T]*.8823529411764706)/
255,tt=Math.min(k.waited[T]/Math.max(k.covered[T],1),1),[vt,Zn,ts]=e.strip[k.class[T]],[$i,Hi,qi]=e.wait;E+=(vt+($i-vt)*tt-E)*D,$+=(Zn+(Hi-Zn)*tt-$)*D,B+=(ts+(qi-
ts)*tt-B)*D}let q=255<<24|Math.round(B)<<16|Math.round($)<<8|Math.round(E),dt=Math.round(b*m),Ht=Math.max(Math.round((b+1)*m)-(m>=4?1:0),dt+1);for(let D=dt;D<Ht;D++)
u[D*l+x]=q}if(m>=4){let x=Math.min(Math.round((b+1)*m)-1,h-1),v=255<<24|p[2]<<16|p[1]<<8|p[0];for(let w=0;w<l;w++)u[x*l+w]=v}}r.putImageData(d,0,0)}};function yn(a,t,e){let n=t.only.length>0&&!t.only.includes(e.rank)?[]:t.only,s=new Set(t.open),i=ft(a,s,n),r=i.lanes.find(h=>h.lane===e.lane),l=r!==void 0?-1:a.
rows.findIndex(h=>e.lane>=h.lane&&e.lane<h.lane+h.lanes);if(l<0)return{open:s,only:n,place:r,plan:i};for(let h of a.rows[l].pinned?[String(l)]:["r"+e.rank,String(
l)]){if(r!==void 0)break;s.add(h),i=ft(a,s,n),r=i.lanes.find(d=>d.lane===e.lane)}return{open:s,only:n,place:r,plan:i}}function Bt(a,t){let e=a.scrollTop;return t===
void 0||t.y>=e+4&&t.y+t.height<=e+a.clientHeight-4?e:Math.max(t.y-Math.max((a.clientHeight-t.height)/3,20),0)}var ve=["bg","attention","gemm","moe","norm","elementwise","communication","copy","sampling","other","t-step","t-range","t-op","t-call","t-launch","t-sync","t-p\
ython","t-profiler","t-nocore","t-other"],Ls=4,Es=3,kn=([a,t,e])=>`rgb(${a},${t},${e})`;function Mn([a,t,e]){let n=s=>s<=10?s/255/12.92:((s/255+.055)/1.055)**2.4;
return .2126*n(a)+.7152*n(t)+.0722*n(e)}function Sn(a,t){let e=Mn(a),n=Mn(t);return(Math.max(e,n)+.05)/(Math.min(e,n)+.05)}function Lt(a){return Sn(a,[255,255,255])>=
Sn(a,[17,17,17])?"#ffffff":"#111111"}function Ts(a){let t=Lt(a)==="#ffffff"?[0,0,0]:[255,255,255];for(let e=0;;e+=.04){let n=F([a,t],e);if(Sn(n,Lt(a)==="#ffffff"?
[255,255,255]:[17,17,17])>=4.5||e>=1)return n}}function _n(){let a=nt(),t=H(a("bg")),e=Mn(t)>.5,n=Ts(H(a("wait"))),s={fill:[],text:[],strip:[],wait:n,waitFill:[
kn(n),kn(F([n,t],.3))],waitText:Lt(n),name:a};for(let i of ve){let r=H(a(i)),l=[r,F([r,e?[255,255,255]:[0,0,0]],.16),F([r,e?[0,0,0]:[255,255,255]],.1),F([r,t],.78)].
map(Ts);for(let h of l)s.fill.push(kn(h)),s.text.push(Lt(h));s.strip.push(F([r,t],.18))}return s}var ot=18,Et=18,Rs=24,As=16,Wi=4;function we(a,t){if(a.steps.length===0)return{lanes:[],left:0};if(a.replicas.length===0)return{lanes:[{name:"",steps:a.steps}],
left:0};let e=a.replicas.filter(n=>t.length===0||n.ranks.some(s=>t.includes(s)));return{lanes:e.slice(0,As),left:Math.max(e.length-As,0)}}function Dt(a){return a>
Wi?10:18}function Gi(a,t){let e=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]],[n,s]=e.find(([r])=>Math.abs(a)>=r&&t>=r/1e6)??e.find(([r])=>t>=r)??e[3],i=Math.min(
Math.max(-Math.floor(Math.log10(t/n)+1e-9),0),6);return(a/n).toFixed(i)+" "+s}function xe(a,t){let e=0;for(;e<a.length&&(a[e].end_ns===0||a[e].end_ns<=t.t0);)e++;
let n=e;for(;n<a.length&&(a[n].end_ns===0||a[n].start_ns<t.t1);)n++;return[e,n]}var j=class a{constructor(t){this.canvas=t;this.ctx=t.getContext("2d",{alpha:!1})}canvas;ctx;static height(t,e){
return t.wall?a.below(t)+(e?Rs:0):ot}static steps(t){return t.lanes.length*Dt(t.lanes.length)}static below(t){return ot+a.steps(t)+(t.otherwise?Et:0)}paint(t,e){
let{ctx:n}=this,s=window.devicePixelRatio||1;if(this.canvas.width=Math.round(t.width*s),this.canvas.height=Math.round(e*s),n.setTransform(s,0,0,s,0,0),n.fillStyle=
t.palette.name("bg"),n.fillRect(0,0,t.width,e),n.font="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",n.textBaseline="middle",this.ticks(t),!t.wall)
return;let i=Dt(t.lanes.length);t.lanes.forEach((r,l)=>this.lane(t,r.steps,ot+l*i,i)),t.otherwise&&this.ghosts(t),e>a.below(t)&&this.ribbons(t)}x(t,e){return(e-
t.view.t0)/(t.view.t1-t.view.t0)*t.width}ticks(t){let{ctx:e}=this,{step:n,first:s}=ms(t.view,t.width,110);e.textAlign="left";for(let i=0;i<100;i++){let r=s+i*n,
l=Math.round(this.x(t,r));if(l>t.width)break;e.fillStyle=t.palette.name("line"),e.fillRect(l,4,1,ot-4),e.fillStyle=t.palette.name("soft");let h=Gi(r,n);l+4+h.length*
6.5<t.width&&e.fillText(h,l+4,ot/2+1)}}lane(t,e,n,s){let{ctx:i}=this,[r,l]=xe(e,t.view);i.textAlign="left";let h=Math.max(Math.ceil((l-r)/(t.width/2)),1);for(let d=r;d<
l;d+=h){let u=e[d];if(u.end_ns===0)continue;let p=e[d+1],m=p!==void 0&&p.end_ns!==0?Math.min(u.end_ns,p.start_ns):u.end_ns,c=Math.max(Math.round(this.x(t,u.start_ns)),
-2),f=Math.min(Math.round(this.x(t,m)),t.width+2),b=Math.max(f-c-(f-c>3?1:0),1),x=t.palette.name(u.slow?"high":xt(u.kind));i.fillStyle=x,i.globalAlpha=d===t.picked?
1:.3,i.fillRect(c,n,b,s-2),i.globalAlpha=1,i.fillRect(c,n+s-4,b,2);let v=String(d),w=b>30+6.5*(u.kind.length+6)?`step ${v} · ${u.kind}${u.slow?" · slow":""}`:
v;b<w.length*6.5+6||s<18||(i.fillStyle=d===t.picked?Lt(Vi(x)):t.palette.name("text"),i.fillText(w,Math.max(c,0)+4,n+s/2-1))}}ghosts(t){let{ctx:e}=this,n=ce(t.ghosts,
t.view),s=ot+a.steps(t);e.textAlign="left";let i=Math.max(Math.ceil(n.length/(t.width/2)),1);for(let r=0;r<n.length;r+=i){let l=n[r],h=Math.max(Math.round(this.
x(t,l.from)),-2),d=Math.min(Math.round(this.x(t,l.would)),t.width+2),u=Math.min(Math.round(this.x(t,l.end)),t.width+2),p=Math.max(d-h-(d-h>3?1:0),1);e.fillStyle=
t.palette.name("share"),e.globalAlpha=.3,e.fillRect(h,s,p,Et-2),e.globalAlpha=1,e.fillRect(h,s+Et-4,p,2),e.fillRect(d-1,s,2,Et-2),e.fillRect(Math.min(d,u),s+Et/
2-1,Math.abs(u-d),1);let m=It(l.end-l.from,l.would-l.from);p<m.length*6.5+6||(e.fillStyle=t.palette.name("text"),e.fillText(m,Math.max(h,0)+4,s+Et/2-1))}}static ghostAt(t,e,n){
if(!t.wall||!t.otherwise||n<ot+a.steps(t)||n>=a.below(t))return null;let s=t.view.t0+e/t.width*(t.view.t1-t.view.t0);return t.ghosts.find(i=>i.from<=s&&s<Math.max(
i.end,i.would))??null}ribbons(t){let{ctx:e}=this,n=a.below(t)+2,s=Rs-6;for(let i of t.ribbons){let r=this.x(t,i.first_ns),l=this.x(t,i.last_ns),h=this.x(t,i.end_ns);
if(h<0||r>t.width||(e.fillStyle=t.palette.name("communication"),e.fillRect(l,n+s-4,Math.max(h-l,1),4),l-r<.75))continue;e.fillStyle=t.palette.name("wait");let d=i.
arrivals_ns.length;for(let u=0;u+1<d;u++){let p=this.x(t,i.arrivals_ns[u]),m=this.x(t,i.arrivals_ns[u+1]),c=(u+1)/d,f=Math.max(c*s,2);m>p&&e.fillRect(p,n+s-f,Math.
max(m-p,.5),f)}e.fillRect(Math.round(l)-1,n,1.5,s)}}static ribbonAt(t,e,n){if(!t.wall||n<a.below(t))return null;let s=t.view.t0+e/t.width*(t.view.t1-t.view.t0),
i=(t.view.t1-t.view.t0)/t.width*3,r=null;for(let l of t.ribbons)s>=l.first_ns-i&&s<=l.end_ns+i&&(r===null||l.wait_ns>r.wait_ns)&&(r=l);return r}static stepAt(t,e,n){
let s=t.wall?t.lanes[Math.floor((n-ot)/Dt(t.lanes.length))]:void 0;if(s===void 0)return null;let i=ye(s.steps,t.view.t0+e/t.width*(t.view.t1-t.view.t0));return i<
0?null:{lane:s,step:i}}};function ye(a,t){let e=-1;return a.forEach((n,s)=>{n.end_ns!==0&&n.start_ns<=t&&t<n.end_ns&&(e=s)}),e}function Ps(a,t){return{title:a.op+
(a.step>=0?`, step ${a.step}`:""),rows:[["last to arrive",t],["first waits for it",g(a.last_ns-a.first_ns)],["waited, all ranks",g(a.wait_ns)],["then until all \
have left",g(a.end_ns-a.last_ns)],["ranks",String(a.ranks)]]}}function Vi(a){return[1,3,5].map(t=>parseInt(a.slice(t,t+2),16))}var ke=class{constructor(t){this.at=t}at;timer=0;look(t,e="replace",n={}){let{at:s}=this;t!==null&&(s.state.view=t,s.unpoint(),s.draw("lanes","overlay"),e==="pu\
sh"||Object.keys(n).length>0?s.store.set({...this.place(),...n},e):this.write())}place(){let{state:t,body:e}=this.at;return{t0:Math.round(t.view.t0),t1:Math.round(
t.view.t1),y:Math.round(e.scrollTop)||null}}write(){clearTimeout(this.timer),this.at.wait("address"),this.timer=window.setTimeout(()=>{let t=this.at.state.view;
this.timer=0,this.at.store.set(this.place()),this.at.state.view=t,this.at.done("address")},250)}get pending(){return this.timer!==0}close(){clearTimeout(this.timer)}zoom(t,e){
let{at:n}=this;this.look(cs(n.state.view,n.time(e??(n.pointer.x>=0?n.pointer.x:n.width/2)),t,n.all))}pan(t){this.look(de(this.at.state.view,t,this.at.all))}whole(){
this.look(gn(this.at.head))}steps(t,e,n,s={},i){this.look(fn(this.at.head,t,e,i),n,s)}go(t,e="push",n=!1){let{at:s}=this,{head:i,body:r}=s,{open:l,only:h,place:d,
plan:u}=yn(i,s.state,t),{start:p,end:m}=s.shown(t),c=Bt(r,d);s.stretchTo(u.height),r.scrollTop=c,this.look(St(s.state.view,p,m-p,s.all,n),e,{rank:t.rank,sel:t.span,
r0:null,r1:null,rows:null,open:[...l].join(",")||null,only:h.join(",")||null,y:Math.round(c)||null})}frame(t){let{start:e,end:n}=this.at.shown(t);this.look(St(this.
at.state.view,e,n-e,this.at.all))}reveal(t){let{at:e}=this,{open:n,only:s}=yn(e.head,e.state,t);(n.size!==e.state.open.size||s.length!==e.state.only.length)&&e.
store.set({open:[...n].join(",")||null,only:s.join(",")||null}),e.body.scrollTop=Bt(e.body,e.plan.lanes.find(i=>i.lane===t.lane))}compare(t,e){let{head:n,heat:s,
body:i}=this.at,r=s.cells===null?-1:Ms(s.cells.values,n.ranks.length,n.steps.length,e),l=r<0||r===t?[t]:[t,r];i.scrollTop=0,this.steps(e,e,"push",{only:l.join("\
,"),align:"step",step:e,rank:t,sel:null,r0:null,r1:null,at:null,y:null})}choices(){let{head:t,source:e}=this.at,n=s=>s==="collective"?!e.exported||t.collectives:
s!=="stretched"||!e.exported;return mn.filter(s=>s.by!=="stretched"&&s.by!=="collective"||t.stretch&&n(s.by))}cycle(){let t=this.choices(),e=t.findIndex(n=>n.by===
this.at.state.by);this.choose(t[(e+1)%t.length].by)}choose(t){let{state:e,head:n,selected:s,store:i}=this.at,r=Math.round((e.view.t0+e.view.t1)/2),l=e.step>=0?e.
step:Math.max(ye(n.steps,r),0),h=s!==null&&s.last>=0?s.start_ns:r;this.look(e.view,"push",{align:t==="wall"?null:t,step:t==="step"?l:i.params.step??null,at:t===
"collective"?h:null})}nextStep(t){let{state:e,head:n}=this.at,s=e.step>=0?e.step:ye(n.steps,(e.view.t0+e.view.t1)/2),i=Math.min(Math.max(s+t,0),n.steps.length-1);
this.steps(i,i,"replace",{step:i})}async nextFound(t){let{state:e,selected:n,source:s}=this.at;if(e.q==="")return;let i=n!==null?n.start_ns:t?e.view.t1:e.view.t0,
r=await s.search(e.q,this.at.rows(),i,t);r.next!==null&&this.go(r.next,"replace")}async beside(t){let{selected:e,source:n}=this.at,s=e!==null?await n.beside(e,t):
await this.first();s!==null&&this.go(s,"replace")}async alike(t){let{selected:e,source:n}=this.at,s=e===null?null:await n.alike(e,t);s!==null&&this.go(s)}async first(){
let{plan:t,body:e,state:n}=this.at;for(let s of _t(t.lanes,e.scrollTop,e.scrollTop+e.clientHeight)){let i=await this.hit(s,n.view.t0,n.view.t1);if(i!==null)return i}
return null}hit(t,e,n){let s=this.at.alignment?.moved_ns[t.rank]??0;return this.at.source.hit(t.lane,e-s,n-s,this.at.state.by==="stretched")}async lanesAway(t){
let{selected:e,plan:n,body:s}=this.at;if(e===null)return void(s.scrollTop+=t*48);for(let i=n.lanes.findIndex(r=>r.lane===e.lane)+t;i>=0&&i<n.lanes.length;i+=t){
let{start:r,end:l}=this.at.shown(e),h=await this.hit(n.lanes[i],r,l);if(h!==null)return this.go(h,"replace")}}counterpart(t){let e=this.at.selected;if(e===null)
return;let n=e.counterparts.filter(r=>r.span>=0),s=n.filter(r=>t>0?r.rank>e.rank:r.rank<e.rank),i=t>0?s[0]??n[0]:s[s.length-1]??n[n.length-1];i!==void 0&&this.go(
i,"replace")}turn(t){this.at.store.set({open:[...xs(this.at.state.open,t)].join(",")||null})}bind(){let{at:t}=this,{store:e,head:n}=t,s=(i,r,l)=>t.context.keys.
bind(i,"Timeline",r,l);s("w +","zoom in",()=>this.zoom(.75)),s("s -","zoom out",()=>this.zoom(1/.75)),s("a ArrowLeft","to the left",()=>this.pan(-.1)),s("d Arro\
wRight","to the right",()=>this.pan(.1)),s("0 Home","the whole capture",()=>this.whole()),s("f","fit the selection to the view",()=>{let{selected:i,state:r}=t;i!==
null?this.go(i,"replace",!0):r.range!==null&&this.look(St(r.view,r.range.t0,r.range.t1-r.range.t0,t.all,!0))}),s("m","sum up the work during the selected span",
()=>{if(t.selected===null)return;let{start:i,end:r}=t.shown(t.selected);e.set({r0:Math.round(i),r1:Math.round(Math.max(r,i+1)),rows:null,sel:null},"push")}),s("\
[","the previous step",()=>this.nextStep(-1)),s("]","the next step",()=>this.nextStep(1)),s(".","select the next span of the lane",()=>{this.beside(!1)}),s(",",
"and the previous one",()=>{this.beside(!0)}),s(">","the next span of the same name on the rank",()=>{this.alike("next")}),s("<","and the previous one",()=>{this.
alike("previous")}),s("L","the longest span of the same name on the rank",()=>{this.alike("longest")}),s("y","copy the details as text",()=>t.panel.copy()),s("p",
"move the details beside or below the rows",()=>t.panel.dock.move()),s("ArrowDown","select in the lane below",()=>{this.lanesAway(1)}),s("ArrowUp","and in the l\
ane above",()=>{this.lanesAway(-1)}),s("c","to the counterpart on the next rank",()=>this.counterpart(1)),s("C","and on the previous rank",()=>this.counterpart(
-1)),s("A","next way to align ranks",()=>this.cycle()),s("h","show or hide the map of ranks and steps",()=>e.set({heat:t.state.heat==="off"?n.measure:"off"})),s(
"H","next measure of the map",()=>{let i=n.measures.findIndex(r=>r.id===t.state.heat);e.set({heat:n.measures[(i+1)%n.measures.length].id})}),s("g","choose a wha\
t-if change",()=>t.el.querySelector(".tl-whatif")?.focus()),s("u","unfold or fold all rows of the rank",()=>this.turn("r"+Math.max(t.state.rank,0))),s("r","all \
ranks again",()=>e.set({only:null})),s("/","search names",()=>t.search.focus()),s("n","the next search result",()=>{this.nextFound(!1)}),s("N","and the previous\
 one",()=>{this.nextFound(!0)}),s("Escape","clear the selection, then the search",()=>{t.state.sel>=0||t.state.range!==null?t.clear():e.set({q:null})})}};var Me=class{constructor(t,e,n){this.c=t;this.known=e;this.arrived=n}c;known;arrived;all=[];over=[];answer=null;asked;lacks="";show(t){if(t===this.asked)return;
this.asked=t,this.answer=null,this.lacks="",this.all=this.over=[];let e=Ot(it(t));if(e.length===0)return this.arrived();M("whatif",{c:this.c,set:e}).then(n=>{this.
asked===t&&(this.answer=n,this.all=n.known?gs(n.lengths):[],this.over=bs(this.all),this.arrived())}).catch(n=>{if(!(n instanceof I)||n.status===0)throw n;this.asked===
t&&(this.lacks=n.message,this.arrived())})}words(){return[...it(this.asked)].map(([t,e])=>`${t} ${rt(e)}`).join(", ")}outcome(){let t=this.answer,e=t?.rows[0];return t===
null?this.lacks:t.known?e===void 0?"":`${e.kind} ${g(e.step_ns)} → ${g(e.without_ns)} (${It(e.step_ns,e.without_ns)})`:"unknown: "+t.why}picker(t,e,n,s){let i=(u,p,m)=>{
let c=X(zt(new Map,U(u,p),m));return r.some(f=>Y(f)===c)||this.known!==null&&!this.known.includes(`${U(u,p)}=${m}`)?!1:o("option",{value:c},`${U(u,p)} ${rt(m)}`)},
r=n.filter(u=>this.known===null||u.set.length===1&&this.known.includes(u.set[0])),l=e>=0&&t.length>1?t[e]:"",h=o("select",{"aria-label":"What if",class:"tl-what\
if",title:"Where each step would end if … (key: g)",on:{change:()=>s(h.value||null)}},o("option",{value:""},"what if …"),...r.map(u=>o("option",{value:Y(u),
title:u.finding},re(u)+" (finding)")),...["host","device","collective","gap"].map(u=>i("",u,"0")),...l===""?[]:["work","host","device"].map(u=>i(l,u,"peers"))),
d=X(it(this.asked))??"";return[...h.options].some(u=>u.value===d)||h.append(o("option",{value:d},this.words())),h.value=d,h}};var Se=class{constructor(t){this.canvas=t;this.ctx=t.getContext("2d")}canvas;ctx;paint(t,e){let{ctx:n}=this,s=window.devicePixelRatio||1,i=Math.round(t.width*s),
r=Math.round(t.height*s);this.canvas.width!==i||this.canvas.height!==r?(this.canvas.width=i,this.canvas.height=r):(n.setTransform(1,0,0,1,0,0),n.clearRect(0,0,i,
r)),n.setTransform(s,0,0,s,0,0);let l=t.palette.name("mark"),h=t.palette.name("strong");if(t.range!==null&&this.shade(t,t.range,h),t.collective!==null&&this.collective(
t,t.collective),this.flows(t,l),this.counterparts(t,h),t.selected!==null&&this.outline(t,t.selected,l,2),e.box!==null){let{x0:d,x1:u,lane:p}=e.box;n.strokeStyle=
l,n.lineWidth=1;let m=Math.max(Math.round(d),-2)+.5,c=Math.min(Math.round(u),t.width+2)-.5;n.strokeRect(m,p.y-t.top+.5,Math.max(c-m,1),p.height-1)}e.x>=0&&(n.fillStyle=
l,n.globalAlpha=.35,n.fillRect(Math.round(e.x),0,1,t.height),n.globalAlpha=1)}x(t,e){return(e-t.view.t0)/(t.view.t1-t.view.t0)*t.width}shade(t,e,n){let{ctx:s}=this,
i=Math.max(this.x(t,e.t0),-1),r=Math.min(this.x(t,e.t1),t.width+1);if(!(r<=0||i>=t.width)){if(s.fillStyle=n,s.globalAlpha=.12,t.rows===null)s.fillRect(i,0,r-i,t.
height);else for(let l of t.lanes.values())t.rows.has(l.row)&&s.fillRect(i,l.y-t.top,r-i,l.height+1);s.globalAlpha=.9,s.fillRect(Math.round(i),0,1,t.height),s.fillRect(
Math.round(r)-1,0,1,t.height),s.globalAlpha=1}}box(t,e){let n=t.lanes.get(e.lane);if(n===void 0||e.span<0)return null;let{start:s,end:i}=t.place(e);return{x0:this.
x(t,s),x1:this.x(t,i),y:n.y-t.top,h:n.height}}outline(t,e,n,s){let i=this.box(t,e);if(i===null||i.x1<-4||i.x0>t.width+4)return;let{ctx:r}=this,l=Math.max(i.x0,-4),
h=Math.min(Math.max(i.x1,i.x0+2),t.width+4);r.strokeStyle=n,r.lineWidth=s,r.strokeRect(l-s/2,i.y-s/2,h-l+s,i.h+s)}counterparts(t,e){if(t.selected===null||t.counterparts.
length===0)return;let{ctx:n}=this,s=[];for(let i of[...t.counterparts,t.selected].sort((r,l)=>(t.lanes.get(r.lane)?.y??0)-(t.lanes.get(l.lane)?.y??0))){let r=this.
box(t,i);r!==null&&s.push({x:r.x0,y:r.y,h:r.h})}n.strokeStyle=e,n.lineWidth=1.5,n.setLineDash([4,3]),n.beginPath(),s.forEach((i,r)=>{r===0||n.lineTo(i.x,i.y),n.
moveTo(i.x,i.y+i.h)}),n.stroke(),n.setLineDash([]);for(let i of t.counterparts)this.outline(t,i,e,1.5)}flows(t,e){let{ctx:n}=this;n.strokeStyle=n.fillStyle=e,n.
lineWidth=1.25;for(let[s,i]of t.flows){let r=this.box(t,s),l=this.box(t,i);if(r===null||l===null)continue;let h=r.x1,d=r.y+r.h/2,u=l.x0,p=l.y+l.h/2,m=Math.max(Math.
min(Math.abs(u-h)/2,60),12);n.globalAlpha=.8,n.beginPath(),n.moveTo(h,d),n.bezierCurveTo(h+m,d,u-m,p,u,p),n.stroke(),n.beginPath(),n.moveTo(u,p),n.lineTo(u-6,p-
3.5),n.lineTo(u-6,p+3.5),n.fill(),n.globalAlpha=1}}collective(t,e){let{ctx:n}=this,s=t.palette.name("wait"),i=t.palette.name("communication"),r=e.map(h=>this.box(
t,h)).filter(h=>h!==null).sort((h,d)=>h.y-d.y);if(r.length===0)return;let l=this.x(t,t.last);n.lineWidth=1;for(let h=0;h+1<r.length;h++){let d=r[h],u=r[h+1];n.globalAlpha=
.22,n.fillStyle=s,n.beginPath(),n.moveTo(Math.min(d.x0,l),d.y+d.h),n.lineTo(l,d.y+d.h),n.lineTo(l,u.y),n.lineTo(Math.min(u.x0,l),u.y),n.fill(),n.fillStyle=i,n.beginPath(),
n.moveTo(l,d.y+d.h),n.lineTo(Math.max(d.x1,l),d.y+d.h),n.lineTo(Math.max(u.x1,l),u.y),n.lineTo(l,u.y),n.fill()}n.globalAlpha=1,n.fillStyle=s,n.fillRect(Math.round(
l),r[0].y,1,r[r.length-1].y+r[r.length-1].h-r[0].y)}};function Cs(a){return g(Math.round(a.t1-a.t0))}var Xi=448,Yi=5e3,$s=600,Tn=40,Ln=class a{static rows=1024;canvas=document.createElement("canvas");ctx;image;pixels;fresh=null;owner=[];used=[];rowOf=new Map;next=0;constructor(){
this.canvas.width=512,this.canvas.height=a.rows,this.ctx=this.canvas.getContext("2d",{willReadFrequently:!0}),this.image=this.ctx.createImageData(512,a.rows),this.
pixels=new Uint32Array(this.image.data.buffer),this.clear()}clear(){this.owner=new Array(a.rows).fill(null),this.used=new Array(a.rows).fill(-1),this.rowOf.clear()}row(t,e,n){
let s=this.rowOf.get(t)??-1;if(s<0){for(;this.used[this.next]===n;)this.next=(this.next+1)%a.rows;s=this.next,this.next=(this.next+1)%a.rows;let i=this.owner[s];
i!==null&&this.rowOf.delete(i),this.owner[s]=t,this.rowOf.set(t,s),this.draw(t,s,e)}return this.used[s]=n,s}flush(){if(this.fresh===null)return;let[t,e]=this.fresh;
this.fresh=null,this.ctx.putImageData(this.image,0,0,0,t,512,e-t)}draw(t,e,n){let{strip:s}=t,i=this.pixels.subarray(e*512,(e+1)*512);if(s===null)return;this.fresh=
this.fresh===null?[e,e+1]:[Math.min(this.fresh[0],e),Math.max(this.fresh[1],e+1)];let[r,l,h]=n.wait;for(let d=0;d<512;d++){let u=s.covered[d],p=s.class[d];if(p===
0){i[d]=0;continue}let m=28+Math.round(u*(227/255)),c=s.waited[d]===0?0:Math.min(s.waited[d]/Math.max(u,1),1),[f,b,x]=n.strip[p]??n.strip[9];i[d]=m<<24|Math.round(
x+(h-x)*c)<<16|Math.round(b+(l-b)*c)<<8|Math.round(f+(r-f)*c)}}},_e=class a{static most=65536;x0=new Float32Array(a.most);x1=new Float32Array(a.most);wait=new Float32Array(
a.most);lane=new Uint16Array(a.most);color=new Uint8Array(a.most);class=new Uint8Array(a.most);span=new Uint32Array(a.most);name=new Uint32Array(a.most);n=0},jt=class a{constructor(t,e,n){
this.canvas=t;this.tiles=e;this.names=n;this.ctx=t.getContext("2d",{alpha:!1})}canvas;tiles;names;stats={paints:0,overlays:0,drawImage:0,fillRect:0,fillText:0,tiles:0,
missing:0,viewBytes:0,mostImages:0,mostRects:0,script:[]};ctx;atlas=new Ln;pieces=new _e;first=[];scene=null;frame=0;widths=new Map;hatch=null;hatched=null;restyle(){
this.atlas.clear()}static needs(t){let e=mt(t.view,t.width);return{level:e,needs:t.lanes.map(n=>{let s=t.moved[n.rank]??0,[i,r]=he({t0:t.view.t0-s,t1:t.view.t1-
s},e);return{lane:n.lane,from:i,to:r}})}}paint(t){let{ctx:e,stats:n}=this,s=window.devicePixelRatio||1,i=Math.round(t.width*s),r=Math.round(t.height*s);(this.canvas.
width!==i||this.canvas.height!==r)&&(this.canvas.width=i,this.canvas.height=r),this.scene=t,this.frame++,n.paints++,n.drawImage=n.fillRect=n.fillText=n.tiles=n.
missing=n.viewBytes=0,e.setTransform(s,0,0,s,0,0),e.imageSmoothingEnabled=!1,this.ground(t),this.strips(t),this.spans(t),this.bands(t),n.mostImages=Math.max(n.mostImages,
n.drawImage),n.mostRects=Math.max(n.mostRects,n.fillRect)}rect(t,e,n,s){this.stats.fillRect++,this.ctx.fillRect(t,e,n,s)}ground(t){let{ctx:e}=this,{name:n}=t.palette;
e.fillStyle=n("bg"),this.rect(0,0,t.width,t.height),e.fillStyle=n("panel");for(let i of t.lanes)this.rect(0,i.y-t.top,t.width,i.height);if(t.lines.length===0)return;
e.fillStyle=n("line");let s=t.width/(t.view.t1-t.view.t0);for(let i of t.lines)this.rect(Math.round((i-t.view.t0)*s),0,1,t.height)}bands(t){if(t.bands.length===
0)return;let{ctx:e}=this,n=t.width/(t.view.t1-t.view.t0);e.fillStyle=t.palette.name("share");for(let s of t.bands){let i=Math.round((s.would-t.view.t0)*n),r=Math.
round((s.end-t.view.t0)*n),l=s.top-t.top,h=s.bottom-s.top;e.globalAlpha=.3,this.rect(Math.min(i,r),l,Math.abs(r-i),h),e.globalAlpha=1,this.rect(i-1,l,2,h)}}strips(t){
let{ctx:e,stats:n,pieces:s}=this,{level:i,needs:r}=a.needs(t),l=t.width/(t.view.t1-t.view.t0),h=512*2**i,d=this.tiles.of(i,t.stretched),u=this.tiles.levelsOf(t.
stretched).filter(m=>m>i).sort((m,c)=>m-c).map(m=>({level:m,get:this.tiles.of(m,t.stretched)}));s.n=0,this.first.length=0;let p=[];for(let m=0;m<r.length;m++){let{
lane:c,from:f,to:b}=r[m],x=t.lanes[m],v=t.moved[x.rank]??0;this.first.push(s.n);let w=null;for(let k=f;k<=b&&p.length<Xi;k++){let T=(k*h+v-t.view.t0)*l,E=h*l,$=x.
y-t.top,B=x.height,q=d(c,k),dt=0,Ht=512;if(q===void 0){n.missing++;for(let D of u){let tt=2**(D.level-i),vt=Math.floor(k/tt);if(q=D.get(c,vt),q!==void 0){Ht=512/
tt,dt=(k-vt*tt)*Ht,q!==w&&this.gather(q,m,(vt*h*tt+v-t.view.t0)*l,l*at(D.level),l*2**D.level,D.level,t),w=q;break}}}else n.tiles++,n.viewBytes+=q.bytes,this.gather(
q,m,T,l*at(i),l*2**i,i,t);q!==void 0&&q.strip!==null&&!(q===w&&q.whole)&&p.push({row:this.atlas.row(q,t.palette,this.frame),from:dt,columns:Ht,x:T,w:E,y:$,h:B})}}
this.first.push(s.n),this.atlas.flush(),e.globalAlpha=t.found===null?1:.35;for(let m of p)e.drawImage(this.atlas.canvas,m.from,m.row,m.columns,1,m.x,m.y,m.w,m.h);
n.drawImage=p.length,e.globalAlpha=1}gather(t,e,n,s,i,r,l){let h=this.pieces,d=at(r)/2**r;for(let u=0;u<t.pieces&&h.n<_e.most;u++){let p=n+t.start[u]*s,m=p+t.width[u]*
s,c=p;if((t.flags[u]&8)!==0&&t.strip!==null){let v=Math.floor(t.start[u]*d),w=Math.min(Math.ceil((t.start[u]+t.width[u])*d),512),k=v+ +(v<w&&t.strip.waited[v]>0);
for(;k>v&&k<w&&t.strip.waited[k]>=128;)k++;k>v&&(c=Math.min(n+k*i,m))}let f=h.n-1;if((t.flags[u]&1)!==0&&f>=this.first[e]&&h.span[f]===t.span[u]){c>p&&(h.wait[f]=
c),h.x1[f]=m;continue}let b=t.name[u],x=t.class[u];h.x0[h.n]=p,h.x1[h.n]=m,h.wait[h.n]=c,h.lane[h.n]=e,h.class[h.n]=x,h.color[h.n]=x*Ls+(l.found!==null&&!l.found.
has(b)?Es:b*7%3),h.span[h.n]=t.span[u],h.name[h.n]=b,h.n++}}threshold(t,e){let n=this.pieces,{width:s}=this.scene;if(n.n<=t)return e;let i=new Uint32Array(256),
r=0;for(let l=0;l<n.n;l++)n.x1[l]<=0||n.x0[l]>=s||i[Math.min(Math.floor(n.x1[l]-n.x0[l]),255)]++;for(let l=255;l>=0;l--)if(r+=i[l],r>t)return Math.max(l+1,e);return e}spans(t){
let{ctx:e,pieces:n}=this,s=Yi-2*t.bands.length,i=s-this.stats.fillRect,r=this.threshold(Math.floor(i*.8),0),l=[],h=[];for(let d=0;d<n.n;d++)n.x1[d]-n.x0[d]<r||n.
x1[d]<=0||n.x0[d]>=t.width||((l[n.color[d]]??=[]).push(d),n.wait[d]>n.x0[d]&&h.push(d));if(l.forEach((d,u)=>{e.fillStyle=t.palette.fill[u];for(let p of d){let m=t.
lanes[n.lane[p]],c=Math.max(Math.round(n.x0[p]),-2),f=Math.min(Math.round(n.x1[p]),t.width+2);this.rect(c,m.y-t.top,Math.max(f-c-(f-c>3?1:0),1),m.height)}}),h.length>
0){e.fillStyle=this.hatching(t.palette);for(let d of h.slice(0,Math.max(s-this.stats.fillRect,0))){let u=t.lanes[n.lane[d]],p=Math.max(Math.round(n.x0[d]),-2),m=Math.
min(Math.round(n.wait[d]),t.width+2);(t.found===null||t.found.has(n.name[d]))&&this.rect(p,u.y-t.top,Math.max(m-p,1),u.height)}}this.labels(t,r)}labels(t,e){let{
ctx:n,pieces:s}=this,i=Math.max(this.threshold($s,Tn),Tn,e);n.font="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",n.textBaseline="middle",n.textAlign=
"left";let r="";for(let l=0;l<s.n;l++){if(s.x1[l]-s.x0[l]<i||this.stats.fillText>=$s)continue;let h=s.x0[l],d=s.x1[l],u=t.palette.text[s.color[l]];s.wait[l]>h&&
(s.wait[l]-Math.max(h,0)>Math.min(d,t.width)-s.wait[l]?(d=s.wait[l],u=t.palette.waitText):h=s.wait[l]),h=Math.max(h,0),d=Math.min(d,t.width);let p=d-h-7;if(p<Tn-
10)continue;let m=this.fit(this.names.get(s.name[l]),p);if(m==="")continue;u!==r&&(n.fillStyle=r=u);let c=t.lanes[s.lane[l]];this.stats.fillText++,n.fillText(m,
h+4,c.y-t.top+c.height/2+.5)}}fit(t,e){if(t==="")return"";let n=this.widths.get(t);if(n===void 0&&(this.widths.size>2e4&&this.widths.clear(),n=this.ctx.measureText(
t).width,this.widths.set(t,n)),n<=e)return t;let s=Math.floor(t.length*(e-9)/n);return s<2?"":t.slice(0,s)+"…"}hatching(t){if(this.hatched!==t){let e=document.
createElement("canvas"),n=e.getContext("2d");e.width=e.height=6,n.fillStyle=t.waitFill[0],n.fillRect(0,0,6,6),n.strokeStyle=t.waitFill[1],n.lineWidth=1.5,n.beginPath();
for(let s of[-6,0,6])n.moveTo(s,6),n.lineTo(s+6,0);n.stroke(),this.hatch=this.ctx.createPattern(e,"repeat"),this.hatched=t}return this.hatch??t.waitFill[0]}hit(t,e){
let n=this.scene;if(n===null)return null;for(let s=0;s<n.lanes.length;s++){let i=n.lanes[s];if(e<i.y-n.top||e>=i.y-n.top+i.height+1)continue;let r=this.pieces,l=this.
first[s],h=this.first[s+1];for(;l<h;){let d=l+h>>1;r.x1[d]<=t?l=d+1:h=d}return l<this.first[s+1]&&r.x0[l]<=t?{lane:i,span:r.span[l],name:r.name[l],class:r.class[l],
x0:r.x0[l],x1:r.x1[l]}:i}return null}classAt(t,e){let n=this.scene,s=mt(n.view,n.width),i=n.view.t0+e/n.width*(n.view.t1-n.view.t0)-(n.moved[t.rank]??0),r=512*2**
s,l=this.tiles.of(s,n.stretched)(t.lane,Math.floor(i/r));if(l?.strip==null)return{class:0,covered:0};let h=Math.floor((i-l.index*r)/2**s);return{class:l.strip.class[h],
covered:l.strip.covered[h]/255}}};function Hs(a){let t=[],e=s=>(s.textContent??"").replace(/\s+/g," ").trim(),n=s=>{if(!(s instanceof HTMLElement&&(s.dataset.tool!==void 0||s.hidden)))if(s instanceof
HTMLDListElement)for(let i of s.querySelectorAll("dt")){let r=i.nextElementSibling;r!==null&&r.querySelector("[data-tool]")===null&&t.push(`${e(i)}: ${e(r)}`)}else if(s instanceof
HTMLTableRowElement)t.push([...s.cells].filter(i=>i.dataset.tool===void 0).map(i=>i.dataset.text??e(i)).join("	"));else if(/^(H\d|P|LI)$/.test(s.tagName))t.push(
e(s));else if(s.childElementCount===0)e(s)!==""&&t.push(e(s));else for(let i of s.children)n(i)};return n(a),t.join(`
`)+`
`}async function qs(a){try{await navigator.clipboard.writeText(a)}catch{let t=document.body.appendChild(document.createElement("textarea")),e=document.activeElement;
t.value=a,t.select(),document.execCommand("copy"),t.remove(),e instanceof HTMLElement&&e.focus()}}var Te={below:110,side:260},Le=class{constructor(t,e,n){this.root=t;this.panel=e;this.set=n;let{handle:s}=this;s.addEventListener("pointerdown",i=>{s.setPointerCapture(
i.pointerId),i.preventDefault()}),s.addEventListener("pointermove",i=>{if(!s.hasPointerCapture(i.pointerId))return;let r=this.panel.getBoundingClientRect();this.
resize(this.side?r.right-i.clientX:r.bottom-i.clientY)}),s.addEventListener("pointerup",()=>this.keep()),s.addEventListener("keydown",i=>{let r={ArrowUp:24,ArrowLeft:24,
ArrowDown:-24,ArrowRight:-24,Home:-1e6,End:1e6}[i.key];r!==void 0&&(i.preventDefault(),this.resize(this.now()+r),this.keep())})}root;panel;set;side=!1;size=0;handle=o(
"div",{class:"tl-size",role:"separator",tabindex:"0","aria-label":"Size of the details",title:"Drag, or use the arrow keys",data:{tool:""}});show(t){let e=/^(side)?(\d{1,4})?$/.
exec(t??""),n=this.side;return this.side=e?.[1]!==void 0,this.size=Number(e?.[2]??0),this.apply(),this.side!==n}move(){this.set(this.side?null:"side")}now(){let t=this.
panel.getBoundingClientRect();return this.side?t.width:t.height}resize(t){let e=this.side?this.root.clientWidth*.6:this.root.clientHeight*.7,n=this.side?Te.side:
Te.below;this.size=Math.round(Math.max(Math.min(t,e),n)),this.apply()}keep(){this.set((this.side?"side":"")+(this.size||""))}apply(){this.root.classList.toggle(
"side",this.side),this.size===0?this.root.style.removeProperty("--dock"):this.root.style.setProperty("--dock",this.size+"px"),this.handle.setAttribute("aria-ori\
entation",this.side?"vertical":"horizontal"),this.measure()}measure(){let t=this.side?this.root.clientWidth*.6:this.root.clientHeight*.7,e=this.now();this.handle.
ariaValueMin=String(this.side?Te.side:Te.below),this.handle.ariaValueMax=String(Math.round(Math.max(t,e))),this.handle.ariaValueNow=String(Math.round(e))}};var En=256,Ji=[{name:"compute",title:"compute",of:a=>a.compute_ns},{name:"transfer",title:"transfer",of:a=>a.transfer_ns},{name:"wait",title:"wait",of:a=>a.wait_ns},
{name:"copy",title:"copy",of:a=>a.copy_ns},{name:"unknown",title:"idle",of:a=>a.idle_ns}];function Ns(a,t,e,n,s,i){let r=new Map(t.ranks.map(m=>[m.rank,m])),l=Ji.
filter(m=>m.name!=="copy"||t.ranks.some(c=>c.copy_ns>0)),h=m=>r.has(m)?t.ranks.map(c=>c.rank).filter(c=>c!==m):[...r.keys(),m],d=m=>o("td",{data:{tool:""}},o("i\
nput",{type:"checkbox",checked:r.has(m),"aria-label":`Sum up ${a.ranks[m]}`,data:{tool:"rank"+m},on:{change:()=>i(h(m))}})),u=m=>{let c=r.get(m),f=i!==null&&e.length>
1&&d(m),b=o("th",{scope:"row"},a.ranks[m]);if(c===void 0)return o("tr",{class:"tl-none"},f,b,o("td",{colspan:String(l.length+2)}));let x=l.map(v=>({name:v.name,
label:c.device?v.title:v.title==="compute"?"busy":v.title,ns:v.of(c)}));return o("tr",{data:{rank:String(m)}},f,b,o("td",{data:{tool:""}},ct(x,1,v=>`${v.label} ${_(
v.ns/Math.max(t.to_ns-t.from_ns,1))}`)),...l.map(v=>o("td",{class:"r"},c.device||v.name==="compute"||v.name==="unknown"?g(v.of(c)):"")),o("td",{title:c.longest?.
label},c.longest===null?"":s(c.longest,g(c.longest.dur_ns)+" "+c.longest.label)))},p=t.ranks.every(m=>m.device);return o("div",{class:"tl-counterparts tl-ranksu\
ms"},o("h3",null,"By rank",n&&i!==null&&o("button",{class:"tl-link",data:{tool:""},on:{click:()=>i(null)}},"all visible rows")),o("table",null,o("thead",null,o(
"tr",null,i!==null&&e.length>1&&o("td",{data:{tool:""}}),o("th",{scope:"col"},"rank"),o("td",{data:{tool:""}}),...l.map(m=>o("th",{scope:"col",class:"r"},m.title===
"compute"&&!p?"busy":m.title)),o("th",{scope:"col"},"longest span"))),o("tbody",null,...e.slice(0,En).map(u))),e.length>En&&o("p",{class:"tl-soft"},`${e.length-
En} more ranks are left out: show fewer, or drag over their rows.`))}var Os=7;function zs(a,t,e,n,s){let i=512*2**e,r=at(e),l=null;for(let h=Math.floor((n-s)/i);h<=Math.floor((n+s)/i);h++){let d=a(t,h);if(d!==void 0)for(let u=0;u<
d.pieces;u++){let p=h*i+d.start[u]*r,m=d.flags[u];(m&1)===0&&(l=Wt(l,p,n,s)),(m&2)===0&&(l=Wt(l,p+d.width[u]*r,n,s))}}return l}function Wt(a,t,e,n){return Math.
abs(t-e)<=n&&(a===null||Math.abs(t-e)<Math.abs(a-e))?t:a}function Gt(a){let[t,e]=(Math.abs(a)/1e6).toFixed(3).split(".");return`${a<0?"-":""}${t.replace(/\B(?=(\d{3})+$)/g,
",")}.${e} ms`}var Qi={outside:"the span belongs to no step, so its counterpart is unknown",no_step:"this rank's file lacks the step",none_such:"this rank ran no such work the\
re",too_many:"the kernels differ over too long a stretch to be matched",apart:"this rank shares no collectives with the other, so its steps differ"};function Re(a){
let t=o("i",{class:"tl-swatch"});return t.style.background=`var(--${ve[a]??"other"})`,t}var Ae=class{constructor(t,e,n,s){this.head=t;this.events=e;this.exported=
s;this.dock=new Le(n,this.el,i=>e.dock(i))}head;events;exported;el=o("section",{class:"tl-panel","aria-label":"Details",tabindex:"0",hidden:!0});dock;hide(){this.
el.hidden=!0,y(this.el)}open(t,...e){this.el.hidden=!1;let n=document.activeElement,s=n!==null&&this.el.contains(n)?n.dataset.tool:void 0,i=(r,l,h,d)=>o("button",
{class:"quiet",title:`${l} (key: ${h})`,"aria-label":l,data:{tool:h},on:{click:d}},r);y(this.el,this.dock.handle,o("div",{class:"tl-panel-head"},...t,o("span",{
class:"space"}),i("copy","Copy the details as text","y",()=>this.copy()),i(this.dock.side?"below":"beside",this.dock.side?"Move the details below the rows":"Mov\
e the details beside the rows","p",()=>this.dock.move()),o("button",{class:"quiet",data:{tool:""},title:"Close (key: Escape)","aria-label":"Close the details",on:{
click:()=>this.events.close()}},"✕")),o("div",{class:"tl-panel-body"},...e)),this.dock.measure(),s&&this.el.querySelector(`[data-tool="${s}"]`)?.focus()}copy(){
this.el.hidden||qs(Hs(this.el)).then(()=>{let t=this.el.querySelector("[data-tool=y]");t!==null&&(t.textContent="copied")})}alike(){let t=(e,n)=>o("button",{class:"\
tl-link",title:`key: ${n}`,on:{click:()=>this.events.alike(e)}},e);return o("span",{data:{tool:""}},t("previous","<")," · ",t("next",">")," · ",t("longest","L"))}link(t,e=t.
label){return o("button",{class:"tl-link",title:t.label,on:{click:()=>this.events.go(t)}},e)}span(t){let e=[["rank",this.head.ranks[t.rank]],["start",Ee(t.start_ns)],
["end",Ee(t.start_ns+t.dur_ns)],["duration",g(t.dur_ns)]];this.exported||e.push(["same name here",this.alike()]),t.wait_ns>0&&e.push(["waits for others",g(t.wait_ns)]),
t.last>=0&&e.push(["last to arrive",this.head.ranks[t.last]+(t.last===t.rank?", this one":"")]),t.step>=0&&e.push(["step",`${t.step}${t.step_name?", "+t.step_name:
""}`]),t.layer!==""&&e.push(["layer",t.layer]),t.launch!==null&&e.push(["launched by",this.link(t.launch)],["launch delay",g(t.delay_ns)]),t.launches>0&&e.push(
["launched",`${S(String(t.launches))} on the GPU`],["launch delay",g(t.delay_ns)]);let n=t.name!==t.label&&o("p",{class:"tl-full"},t.name);this.open([Re(t.class),
o("h2",{title:t.name},t.label),o("span",{class:"tl-soft"},t.category)],o("div",{class:"tl-facts"},n,Is(e),t.args.length>0&&Is(t.args.map(s=>[s.name,s.value]))),
t.counterparts.length>0&&this.counterparts(t),(t.around.length>0||t.launched.length>0)&&o("div",{class:"tl-around"},t.launched.length>0&&o("h3",null,"Launched b\
y it"),t.launched.length>0&&o("ol",null,...t.launched.map(s=>o("li",{title:s.label},this.link(s),o("span",{class:"tl-soft"}," "+g(s.dur_ns)))),t.launches>t.launched.
length&&o("li",{class:"tl-soft"},`and ${t.launches-t.launched.length} more`)),t.around.length>0&&o("h3",null,t.launch?"Launched inside":"Inside"),t.around.length>
0&&o("ol",null,...t.around.map(s=>o("li",{title:s.label},this.link(s),o("span",{class:"tl-soft"}," "+g(s.dur_ns)))))))}counterparts(t){let e=Math.max(t.dur_ns,...t.
counterparts.map(p=>p.why===""?p.dur_ns:0),1),n=p=>{let m=o("span",{class:"tl-bar"});return m.style.width=p/e*90+"px",m.style.background=`var(--${ve[t.class]??"\
other"})`,m},s=t.counterparts.some(p=>p.delays),i=t.counterparts.some(p=>p.grid!==""),r=t.args.find(p=>p.name==="grid")?.value??"",l=p=>p.why!==""?o("tr",{class:"\
tl-none"},o("th",{scope:"row"},this.head.ranks[p.rank]),o("td",{colspan:String(3+Number(i)+Number(s))},"none: "+(Qi[p.why]??p.why))):o("tr",{data:{rank:String(p.
rank),span:String(p.span)}},o("th",{scope:"row"},this.link(p,this.head.ranks[p.rank])),o("td",null,n(p.dur_ns)," "+g(p.dur_ns)),o("td",{class:"r"},O(p.longer_ns)),
o("td",{class:"r"},O(p.later_ns)),i&&o("td",{class:p.grid!==r?"tl-differs":""},p.grid+(p.other?" · another kernel: "+p.label:"")),s&&o("td",{class:"r"},p.delays?
O(p.delayed_ns):"")),h=o("tr",{class:"selected"},o("th",{scope:"row"},this.head.ranks[t.rank]),o("td",null,n(t.dur_ns)," "+g(t.dur_ns)),o("td",null),o("td",null),
i&&o("td",null,r),s&&o("td",null)),u=[...t.counterparts.map(p=>[p.rank,l(p)]),[t.rank,h]].sort((p,m)=>p[0]-m[0]).map(([,p])=>p);return o("div",{class:"tl-counte\
rparts"},o("h3",null,"The same on every rank"),o("table",null,o("thead",null,o("tr",null,o("th",{scope:"col"},"rank"),o("th",{scope:"col"},"duration"),o("th",{scope:"\
col",class:"r"},"longer by"),o("th",{scope:"col",class:"r"},"starts later by"),i&&o("th",{scope:"col"},"grid"),s&&o("th",{scope:"col",class:"r"},"launch delay"))),
o("tbody",null,...u)))}note(t){this.open([o("h2",null,t)])}range(t,e,n,s,i){let r=e.length,l=[{id:"name",title:"name",key:p=>p.name,text:p=>[Re(p.class),this.link(
p.longest,p.name)],right:!1},{id:"count",title:"count",key:p=>p.count,text:p=>S(String(p.count)),right:!0},{id:"self",title:"self time",key:p=>p.self_ns,text:p=>g(
p.self_ns),right:!0},{id:"total",title:"total",key:p=>p.total_ns,text:p=>g(p.total_ns),right:!0},{id:"wait",title:"waiting",key:p=>p.wait_ns,text:p=>p.wait_ns>0?
g(p.wait_ns):"",right:!0},{id:"max",title:"longest",key:p=>p.max_ns,text:p=>g(p.max_ns),right:!0},{id:"spread",title:"lowest to highest rank",key:p=>p.most_ns-p.
least_ns,text:p=>r>1&&p.most>=0?`${g(p.least_ns)} (${this.head.ranks[p.least]}) – ${g(p.most_ns)} (${this.head.ranks[p.most]})`:"",right:!0}],h=s.startsWith("\
-"),d=l.find(p=>p.id===s.replace(/^-/,""))??l[2],u=t.sums.slice().sort((p,m)=>{let c=d.key(p),f=d.key(m),b=typeof c=="string"?c.localeCompare(String(f),"en"):c-
Number(f);return h?-b:b});this.open([o("h2",null,g(t.to_ns-t.from_ns)),o("span",{class:"tl-soft"},`from ${Ee(t.from_ns)} to ${Ee(t.to_ns)}: contents of ${n?"cho\
sen":"the visible"} rows`)],Ns(this.head,t,e,n,(p,m)=>this.link(p,m),this.exported?null:p=>this.events.ranks(p)),o("div",{class:"table tl-range"},u.length===0?o(
"p",{class:"tl-soft"},"Nothing begins, runs or ends here on the visible rows."):o("table",null,o("thead",null,o("tr",null,...l.map(p=>o("th",{scope:"col",class:p.
right?"r":"","aria-sort":p===d?h?"descending":"ascending":null},o("button",{on:{click:()=>this.events.sort(p===d&&h?p.id:"-"+p.id)}},p.title,p===d&&o("span",{"a\
ria-hidden":"true"},h?" ▾":" ▴")))))),o("tbody",null,...u.map(p=>o("tr",null,...l.map(m=>{let c=m.text(p),f=o("td",{class:m.right?"r":"name",title:m.right?null:
p.name});return Array.isArray(c)?f.append(...c):y(f,c),f}))))),t.all>u.length&&o("p",{class:"tl-soft"},`${S(String(t.all-u.length))} more names, each with less \
self time, are left out.`)),i)}found(t,e){let n=`${S(String(t.all))} name${t.all===1?"":"s"}`;if(t.spans===0&&t.all>0)return this.note(`${n} contain${t.all===1?
"s":""} “${e}”: the drawn spans are marked`);this.open([o("h2",null,t.all===0?`No name contains “${e}”`:`${S(String(t.spans))} spans of ${n}, ${g(t.total_ns)}`),
o("span",{class:"tl-soft"},t.all===0?"on the visible rows":"n and N go to the next and the previous one")],t.names.length>0&&o("div",{class:"table tl-range"},o(
"table",null,o("thead",null,o("tr",null,o("th",{scope:"col"},"name"),o("th",{scope:"col",class:"r"},"spans"),o("th",{scope:"col",class:"r"},"total"))),o("tbody",
null,...t.names.map(s=>o("tr",null,o("td",{class:"name",title:s.name},this.link(s.first,s.name)),o("td",{class:"r"},S(String(s.count))),o("td",{class:"r"},g(s.total_ns))))))))}};
function Ee(a){return`${Gt(a)} (${S(String(a))} ns)`}function Is(a){return o("dl",null,...a.flatMap(([t,e])=>[o("dt",null,t),o("dd",null,e)]))}function Fs(a,t){let e=new Map,n=()=>{let[s,i]=[...e.values()];return{middle:(s+i)/2,apart:Math.max(Math.abs(s-i),8)}};a.addEventListener("pointerdown",s=>{s.pointerType===
"touch"&&e.size<2&&e.set(s.pointerId,s.offsetX)}),a.addEventListener("pointermove",s=>{let i=e.get(s.pointerId);if(i===void 0)return;if(e.size===1){t.pan(s.offsetX-
i),e.set(s.pointerId,s.offsetX);return}let r=n();e.set(s.pointerId,s.offsetX);let l=n();t.zoom(r.apart/l.apart,r.middle),t.pan(l.middle-r.middle)});for(let s of[
"pointerup","pointercancel"])a.addEventListener(s,i=>e.delete(i.pointerId))}var Pe=class{constructor(t,e){this.at=t;this.moves=e}at;moves;listen(){let{at:t,moves:e}=this,n=t.overlay.canvas,s=t.ruler.canvas,i=t.minimap.canvas;t.search.addEventListener(
"input",()=>t.store.set({q:t.search.value})),t.search.addEventListener("keydown",l=>{l.key==="Enter"&&(l.preventDefault(),e.nextFound(l.shiftKey))}),t.body.addEventListener(
"scroll",()=>{t.unpoint(),t.draw("lanes"),Math.abs(t.body.scrollTop-t.state.y)>1&&e.write()}),t.body.addEventListener("wheel",l=>this.wheel(l),{passive:!1});for(let l of[
s,i])l.addEventListener("wheel",h=>this.wheel(h,!0),{passive:!1});for(let l of[n,s,i])Fs(l,{pan:h=>l===i||e.pan(-h/t.width),zoom:(h,d)=>e.zoom(h,d)});An(n,(l,h,d)=>{
if(l.pointerType!=="touch"){if(l.shiftKey||l.buttons===4)return e.pan(-l.movementX/t.width);this.measure(l,h,d)}},(l,h)=>{let{range:d,rows:u}=t.state;P(),h?d!==
null&&!l.shiftKey&&l.pointerType!=="touch"&&d.t1>d.t0&&t.store.set({r0:d.t0,r1:d.t1,rows:le(u),sel:null},"push"):this.click(l.offsetX,l.offsetY)},()=>t.forget()),
An(s,l=>l.pointerType==="touch"||e.pan(-l.movementX/t.width),(l,h)=>{h||this.clickRuler(l.offsetX,l.offsetY)}),s.addEventListener("dblclick",l=>{let h=j.stepAt(
t.above(),l.offsetX,l.offsetY);h!==null&&e.steps(h.step,h.step,"push",{step:h.step},h.lane.steps)});let r=l=>{let h=t.all.t0+l.offsetX/t.width*(t.all.t1-t.all.t0),
d=(t.state.view.t1-t.state.view.t0)/2;e.look(de({t0:h-d,t1:h+d},0,t.all))};An(i,r,(l,h)=>h||r(l)),n.addEventListener("pointermove",l=>l.buttons===0&&this.hover(
l.offsetX,l.offsetY)),n.addEventListener("pointerleave",()=>this.hover(-1,-1)),s.addEventListener("pointermove",l=>l.buttons===0&&this.hoverRuler(l.offsetX,l.offsetY)),
s.addEventListener("pointerleave",()=>this.hoverRuler(-1,-1))}measure(t,e,n){let{at:s}=this,i=t.ctrlKey||t.metaKey,r=s.body.scrollTop,l=t.offsetX,h=t.offsetY,d=i?
s.time(e):this.snapped(e,n),u=i?s.time(l):this.snapped(l,h),p={t0:Math.round(Math.min(d,u)),t1:Math.round(Math.max(d,u))};s.state.range=p,s.state.rows=us(s.plan,
n+r,h+r,t.altKey),N(s.overlay.canvas,l,h,{title:g(p.t1-p.t0),rows:[["from",Gt(p.t0)],["to",Gt(p.t1)],["rows",s.state.rows.length===0?"all that are visible":String(
s.state.rows.length)]]}),s.draw("overlay")}snapped(t,e){let{at:n}=this,s=n.time(t),{view:i,by:r}=n.state,l=Os*(i.t1-i.t0)/n.width,h=n.body.scrollTop,d=_t(n.plan.
lanes,e+h,e+h+1)[0],u=r==="stretched",p=null;if(d!==void 0){let m=u?0:n.alignment?.moved_ns[d.rank]??0,c=mt(i,n.width);p=zs(n.source.tiles.of(c,u),d.lane,c,s-m,
l),p!==null&&(p+=m)}if(r==="wall")for(let m of n.head.steps)m.end_ns>0&&(p=Wt(Wt(p,m.start_ns,s,l),m.end_ns,s,l));return p??s}wheel(t,e=!1){let n=t.deltaMode===
1?16:1,s=t.deltaX*n,i=t.deltaY*n,r=t.clientX-this.at.overlay.canvas.getBoundingClientRect().left;if(t.ctrlKey||t.metaKey||e&&!t.shiftKey&&Math.abs(i)>=Math.abs(
s))this.moves.zoom(Math.exp(Math.min(Math.max(i,-240),240)/300),r);else if(t.shiftKey||Math.abs(s)>Math.abs(i))this.moves.pan((t.shiftKey&&s===0?i:s)/this.at.width);else
return;t.preventDefault()}async click(t,e){let{at:n}=this,s=n.painter.hit(t,e);if(s===null)return n.clear();let i=(l,h)=>n.store.set({rank:l,sel:h,r0:null,r1:null,
rows:null},"push");if("span"in s)return i(s.lane.rank,s.span);let r=await this.moves.hit(s,n.time(t-1),n.time(t+2));r===null?n.clear():i(s.rank,r.span)}clickRuler(t,e){
let{at:n}=this,s=n.above(),i=j.stepAt(s,t,e),r=j.ribbonAt(s,t,e);if(i!==null){let l=i.lane.steps[i.step];n.store.set({step:i.step,r0:l.start_ns,r1:l.end_ns,rows:null,
sel:null},"push")}else if(r!==null){let l=Math.max(r.last_ns-r.first_ns,r.end_ns-r.last_ns,1e3);n.state.view=St({t0:r.last_ns-1.5*l,t1:r.last_ns+.8*l},r.late.start_ns,
0,n.all),this.moves.go(r.late)}}hover(t,e){let{at:n}=this,s=t<0?null:n.painter.hit(t,e);if(n.pointer={x:t,y:e,box:s!==null&&"span"in s?{x0:s.x0,x1:s.x1,lane:s.lane}:
null},t>=0&&(n.crossing=null),n.marks(),s===null)return P();if("span"in s)return this.tip(s,t,e);let{class:i,covered:r}=n.painter.classAt(s,t);i===0?P():N(n.overlay.
canvas,t,e,{title:n.head.classes[i],rows:[["busy here",_(Math.round(r*100)/100)],["","a click selects the longest span"]]})}tip(t,e,n){let{head:s,state:i,source:r,
width:l,overlay:h}=this.at,d=s.rows[t.lane.row],u=(t.x1-t.x0)/l*(i.view.t1-i.view.t0),p=[[s.ranks[d.rank],d.name],["what",s.classes[t.class]??""]];i.by!=="stret\
ched"&&p.push(["duration",g(Math.round(u))]),N(h.canvas,e,n,{title:r.names.get(t.name),rows:p})}hoverRuler(t,e){let{at:n}=this,{head:s,source:i}=n,r=n.ruler.canvas,
l=n.above(),h=t<0?null:j.ribbonAt(l,t,e),d=t<0?null:j.stepAt(l,t,e),u=t<0?null:j.ghostAt(l,t,e);if(h!==null)N(r,t,e,Ps(h,s.ranks[h.late.rank])),n.crossing?.of!==
h&&(n.crossing={of:h,links:[]},i.parts(h).then(p=>{n.crossing?.of===h&&(n.crossing.links=p),n.draw("overlay")}));else if(n.crossing=null,u!==null)N(r,t,e,ws(u));else if(d===
null)P();else{let p=d.lane.steps[d.step];N(r,t,e,{title:`step ${d.step}, ${p.kind}`,rows:[["name",p.name],[d.lane.name||"all ranks",g(p.end_ns-p.start_ns)]]})}n.
draw("overlay")}};function An(a,t,e,n=()=>{}){let s=NaN,i=NaN,r=!1;a.addEventListener("pointerdown",l=>{if(!(l.button>1)){if(!l.isPrimary){r=!0;return}s=l.offsetX,
i=l.offsetY,r=!1,a.setPointerCapture(l.pointerId)}}),a.addEventListener("pointermove",l=>{Number.isNaN(s)||!l.isPrimary||(r||=Math.abs(l.offsetX-s)>4,r&&t(l,s,i))}),
a.addEventListener("pointerup",l=>{l.isPrimary&&(Number.isNaN(s)||e(l,r),s=NaN)}),a.addEventListener("pointercancel",()=>{r&&!Number.isNaN(s)&&n(),s=NaN})}var Zi=3;function Bs(a){let t=new Uint8Array(a),e=new DataView(a),n=[],s=4,i=()=>{let l=0,h=1;for(;;){let d=t[s++];if(l+=(d&127)*h,d<128)return l;h*=128}},r=()=>{
let l=i();return l%2===0?l/2:-(l+1)/2};for(let l=e.getUint32(0,!0);l>0;l--){s+=4;let h=i(),d=t[s++]===1,u=new Float64Array(h),p=new Float64Array(h),m=new Int32Array(
h),c=new Uint32Array(h);for(let v=0;v<h;v++)u[v]=r();for(let v=0,w=0;v<h;v++)u[v]+=w,w=p[v]=u[v]+i();for(let v=0,w=0;v<h;v++)w=m[v]=w+r();for(let v=0;v<h;v++)c[v]=
i();let f=t.slice(s,s+h),b=t.slice(s+h,s+2*h);s+=2*h;let x=null;if(d){x=new Float64Array(h);for(let v=0;v<h;v++)x[v]=i()}n.push({start:u,end:p,span:m,name:c,class:f,
flags:b,wait:x})}return n}function Ds({start:a},t){let e=0,n=a.length;for(;e<n;){let s=e+n>>1;a[s]<t?e=s+1:n=s}return e}function js(a,t,e){let n=Ds(a,t),s=-1;for(n>
0&&a.end[n-1]>t&&n--;n<a.start.length&&a.start[n]<e;n++)(s<0||a.end[n]-a.start[n]>a.end[s]-a.start[s])&&(s=n);return s}function Us(a,t,e,n){let s=2**n,i=e*512*s,
r=i+512*s,l=at(n),h={class:new Uint8Array(512),covered:new Uint8Array(512),waited:new Uint8Array(512)},d=new Float64Array(512),u=new Float64Array(512),p=new Float64Array(
512).fill(-1),m=[],c=(w,k,T)=>{for(let E=Math.max(Math.floor((k-i)/s),0),$=i+E*s;E<512&&$<T;E++,$+=s)w[E]+=Math.min(T,$+s)-Math.max(k,$)},f=Ds(a,i),b=0;for(f>0&&
a.end[f-1]>i&&f--;f<a.start.length&&a.start[f]<r;f++,b++){let w=a.start[f],k=a.end[f],T=k-w,E=Math.max(Math.floor((w-i)/s),0),$=Math.min(Math.max(Math.ceil((k-i)/
s)-1,E),511);for(let B=E;B<=$;B++)T<=p[B]||(p[B]=T,h.class[B]=a.class[f]);c(d,w,k),a.wait!==null&&a.wait[f]>0&&c(u,w,w+a.wait[f]),T>=Zi*s&&m.push(f)}for(let w=0;w<
512;w++)h.covered[w]=Math.ceil(Math.min(d[w],s)*255/s),h.waited[w]=Math.ceil(Math.min(u[w],s)*255/s);let x=w=>Uint32Array.from(m,w),v=w=>Math.max(a.start[w],i);
return{lane:t,index:e,bytes:0,whole:b===m.length,strip:b===0?null:h,pieces:m.length,start:x(w=>Math.floor((v(w)-i)/l)),width:x(w=>Math.floor((Math.min(a.end[w],
r)-v(w))/l)),span:x(w=>a.span[w]),name:x(w=>a.name[w]),class:Uint8Array.from(m,w=>a.class[w]),flags:Uint8Array.from(m,w=>a.flags[w]|(a.start[w]<i?1:0)|(a.end[w]>
r?2:0))}}function er(a,t,e){let n=[],s=0;for(let i of a){let{from:r,to:l}=i;for(;r<=l&&t(i.lane,r);)r++;for(;l>=r&&t(i.lane,l);)l--;if(l=Math.min(l,r+e-s-1),l<r)continue;
s+=l-r+1;let h=n[n.length-1];h!==void 0&&h.last===i.lane-1&&h.from===r&&h.to===l?h.last=i.lane:n.push({first:i.lane,last:i.lane,from:r,to:l})}return n.map(i=>`${i.
first}-${i.last}@${i.from}_${i.to}`).join(";")}var Ws=4e3,Ce=class a{constructor(t,e,n,s){this.epoch=t;this.levelsThere=e;this.ask=n;this.arrived=s}epoch;levelsThere;ask;arrived;levels=new Map;loading=!1;failed=new Set;lanes=null;asks=!0;received=0;requests=0;static key(t,e){
return t*2**32+(e+2**31)}at(t,e){let n=(e?"s":"w")+t,s=this.levels.get(n);return s===void 0?s=new Map:this.levels.delete(n),this.levels.set(n,s),s}of(t,e){let n=this.
levels.get((e?"s":"w")+t);return n===void 0?()=>{}:(s,i)=>n.get(a.key(s,i))}add(t,e,n){let s=this.at(t,e);for(let i of _s(n,this.epoch))s.set(a.key(i.lane,i.index),
i);this.received+=n.byteLength}levelsOf(t){return[...this.levels.keys()].filter(e=>e.startsWith(t?"s":"w")).map(e=>Number(e.slice(1)))}from(t){this.lanes=t,this.
arrived()}make(t,e){let n=this.of(e,!1),s=this.at(e,!1),i=!1;for(let r of t)for(let l=r.from;l<=r.to;l++)n(r.lane,l)===void 0&&(s.set(a.key(r.lane,l),Us(this.lanes[r.
lane],r.lane,l,e)),i=!0);i&&this.forget(),i&&this.arrived()}load(t,e,n){if(this.lanes!==null)return this.make(t,e);if(this.loading||!this.asks)return;let s=this.
of(e,n),i=this.levelsThere.length>0,r=er(t,(h,d)=>s(h,d)!==void 0,448);if(i){let h=this.levelsThere.find(d=>!this.levels.has("w"+d));if(h===void 0||h<Math.min(e,
this.levelsThere[0]))return;[e,r]=[h,"all"]}let l=`${e} ${n} ${r}`;r===""||this.failed.has(l)||(this.loading=!0,this.requests++,this.ask(e,n,r).then(h=>{this.add(
e,n,h),i||this.forget()},h=>{throw this.failed.add(l),h}).finally(()=>{this.loading=!1,this.arrived()}))}forget(){let t=0;for(let e of this.levels.values())t+=e.
size;for(let[e,n]of this.levels){if(t<=Ws)return;if(this.levels.size===1)break;t-=n.size,this.levels.delete(e)}for(let e of this.levels.values())for(let n of e.
keys()){if(t<=Ws)return;e.delete(n),t--}}kept(){let t=0;for(let e of this.levels.values())t+=e.size;return t}},$e=class{constructor(t,e,n){this.size=t;this.ask=
e;this.arrived=n}size;ask;arrived;blocks=new Map;async whole(t){let e=Math.floor(t/this.size);return(this.blocks.get(e)??await this.ask(e))[t-e*this.size]??""}get(t){
let e=Math.floor(t/this.size),n=this.blocks.get(e);return n===void 0&&(this.blocks.set(e,null),this.ask(e).then(s=>{this.blocks.set(e,s),this.arrived()})),n?.[t-
e*this.size]??""}};var nr=256,Gs=128;function sr(a,t){let e=t[a.rank];return t.filter(n=>n!==e).map(({delay_ns:n,launched:s,...i})=>{let r=i.span>=0,l=r&&e.launched&&s;return{...i,
longer_ns:r?i.dur_ns-a.dur_ns:0,later_ns:r?i.start_ns-a.start_ns:0,delays:l,delayed_ns:l?n-e.delay_ns:0}})}var He=class{constructor(t,e,n,s){this.head=t;this.lanes=
e;this.names=n;this.ask=s;this.places=t.ranks.map(()=>new Map);for(let i of t.rows)for(let r=i.lane;r<i.lane+i.lanes;r++)e[r]?.span.forEach((l,h)=>this.places[i.
rank].set(l,[r,h]))}head;lanes;names;ask;places;rankOf(t){return this.head.rows.find(e=>t>=e.lane&&t<e.lane+e.lanes)?.rank??0}async at(t,e){let n=this.lanes[t],
s=n.start[e],i=n.end[e];return{rank:this.rankOf(t),span:n.span[e],lane:t,label:await this.names.whole(n.name[e]),start_ns:s,dur_ns:i-s,stretched_ns:[s,i]}}async link(t,e){
if(typeof e!="number")return e;let n=this.places[t].get(e);return n===void 0?{rank:t,span:-1,lane:-1,label:"",start_ns:0,dur_ns:0,stretched_ns:[0,0]}:this.at(...n)}links(t,e=[]){
return Promise.all(e.map(n=>this.link(t,n)))}async span(t,e){let n=await this.ask("timeline/details",{rank:t,block:Math.floor(e/nr)}).then(r=>r[e],()=>{}),s=n?.
self??await this.link(t,e);if(n===void 0)return this.little(s);let i={...s,name:n.name,category:n.category,class:n.class,step:n.step,step_name:n.step_name??"",layer:n.
layer??"",args:n.args??[],wait_ns:n.wait_ns??0,last:n.last,launch:n.launch===void 0?null:await this.link(t,n.launch),delay_ns:n.delay_ns??0,launched:await this.
links(t,n.launched),launches:n.launches??0,around:await this.links(t,n.around),counterparts:n.counterparts??[]};if(n.group!==void 0){let r=(await this.ask("time\
line/groups",{block:Math.floor(n.group/Gs)}))[n.group%Gs];i.counterparts=sr(i,await Promise.all(r.map(async([l,h,d,u,p,m],c)=>({...await this.link(c,l),rank:c,why:h,
other:d,grid:u,delay_ns:p,launched:m}))))}return i}little(t){let e=this.places[t.rank].get(t.span);if(e===void 0)throw new Error("no such span");let n=this.lanes[e[0]];
return{...t,name:t.label,category:"",class:n.class[e[1]],step:this.head.steps.findIndex(s=>t.start_ns>=s.start_ns&&t.start_ns<s.end_ns),step_name:"",layer:"",args:[
{name:"details",value:"not in this page: open the capture with stepscope view"}],wait_ns:n.wait?.[e[1]]??0,last:-1,launch:null,delay_ns:0,launched:[],launches:0,
around:[],counterparts:[]}}async hit(t,e,n){let s=js(this.lanes[t],e,n);return s<0?null:this.at(t,s)}async beside(t,e){let n=this.places[t.rank].get(t.span),s=(n?.[1]??
0)+(e?-1:1);return n===void 0||s<0||s>=this.lanes[n[0]].span.length?null:this.at(n[0],s)}async next(t,e,n,s){let i=null,r=0,l=0,h=0;for(let d of e.map(u=>this.head.
rows[u]))for(let u=d.lane;u<d.lane+d.lanes;u++){let p=this.lanes[u];p.name.forEach((m,c)=>{if(!t.has(m))return;l++,h+=p.end[c]-p.start[c];let f=p.start[c];(s?f<
n:f>n)&&(i===null||(s?f>r:f<r))&&(i=[u,c],r=f)})}return{next:i===null?null:await this.at(...i),spans:l,total_ns:h}}};var Vs=()=>new I("An exported page does not have this: open the capture with stepscope view.",404);function ir({last_ns:a,at:t},e){let n=0;return a.forEach((s,i)=>{
Math.abs(s-e)<Math.abs(a[n]-e)&&(n=i)}),t[n]}var qe=class a{constructor(t,e,n){this.head=t;this.c=e;this.exported=t.levels.length>0||t.columns,this.tiles=new Ce(
t.epoch,t.levels,(s,i,r)=>te("timeline/tiles",{c:e,level:s,axis:i?"stretched":null,tiles:this.exported?null:r}),n),this.names=new $e(t.block,s=>M("timeline/name\
s",{c:e,block:s}),n),this.told=this.exported?pt(this.columns()):null,this.told}head;c;tiles;names;exported;told;async columns(){this.tiles.asks=!this.head.columns;
let t=this.head.columns?Bs(await te("timeline/columns",{c:this.c})):[];return this.head.columns&&this.tiles.from(t),new He(this.head,t,this.names,(e,n)=>M(e,{c:this.
c,...n}))}static alignment({by:t,step:e,at:n}){return{align:t,step:t==="step"?e:null,at:t==="collective"?n:null}}heat(t){return te("timeline/heat",{c:this.c,measure:t})}async align(t){
return this.exported&&t.by==="collective"?ir(await M("timeline/collectives",{c:this.c}),t.at):M("timeline/align",{c:this.c,...a.alignment(t)})}async span(t,e){return this.
told===null?M("timeline/span",{c:this.c,rank:t,span:e}):(await this.told).span(t,e).catch(()=>{throw Vs()})}range(t,e){if(this.exported){let n=this.head.steps.findIndex(
s=>s.start_ns===t.range?.t0&&s.end_ns===t.range.t1);return n<0||n>=this.head.summed||t.by!=="wall"||e!==this.pinned()?Promise.reject(new I(this.sums(),404)):M("\
timeline/range",{c:this.c,from:this.head.steps[n].start_ns,to:this.head.steps[n].end_ns})}return t.range===null?Promise.reject(Vs()):M("timeline/range",{c:this.
c,from:t.range.t0,to:t.range.t1,rows:e,...a.alignment(t)})}pinned(){return ft(this.head,new Set,[]).groups.flatMap(t=>t.rows.map(e=>e.row)).join(",")}sums(){return`\
An exported page sums up steps${this.head.summed<this.head.steps.length?`, up to step ${this.head.summed-1},`:""} by the wall clock, over its initial rows: clic\
k on one above the rows.`}async search(t,e,n,s){if(!this.exported)return M("timeline/search",{c:this.c,q:t,rows:e,after:Math.round(n),back:s?1:null});let i=[],r=t.
toLowerCase();for(let h=0;h*this.head.block<this.head.names;h++)(await M("timeline/names",{c:this.c,block:h})).forEach((d,u)=>d.toLowerCase().includes(r)&&i.push(
h*this.head.block+u));let l=await(await this.told).next(new Set(i),this.head.columns?e.split(",").map(Number):[],n,s);return{names:[],all:i.length,ids:i,...l}}async ribbons(t,e){
return this.exported?(await M("timeline/ribbons",{c:this.c})).ribbons.filter(n=>n.first_ns<e&&n.end_ns>t):(await M("timeline/ribbons",{c:this.c,from:t,to:e,most:300})).
ribbons}parts(t){return this.exported?Promise.resolve([]):M("timeline/parts",{c:this.c,domain:t.domain,index:t.index})}moved(t,e,n,s){return M("timeline/moved",
{c:this.c,from:e,to:n,n:s,ranks:t.join(",")})}hit(t,e,n,s){return this.told!==null?this.head.columns?this.told.then(i=>i.hit(t,e,n)):Promise.resolve(null):(e=Math.
floor(e),M("timeline/hit",{c:this.c,lane:t,from:e,to:Math.max(Math.ceil(n),e+1),axis:s?"stretched":null}))}alike(t,e){return this.exported?Promise.resolve(null):
M("timeline/alike",{c:this.c,rank:t.rank,span:t.span,which:e})}beside(t,e){return this.told!==null?this.head.columns?this.told.then(n=>n.beside(t,e)):Promise.resolve(
null):M("timeline/beside",{c:this.c,rank:t.rank,span:t.span,back:e?1:null})}};function Pn(a,t,e){let{state:n,head:s,store:i,moves:r,search:l,ghosts:h}=t,d=document.activeElement,u=n.heat!=="off",p=n.by==="step"?`at step ${n.step}`:n.by===
"collective"?"at the one nearest to the middle":"between collectives";y(a,l,o("span",{role:"group","aria-label":"Align ranks by (key: A)"},...r.choices().map(m=>o(
"button",{class:"choice",title:m.help,"aria-pressed":String(m.by===n.by),data:{align:m.by},on:{click:()=>r.choose(m.by)}},m.title))),n.by!=="wall"&&o("span",{class:"\
tl-soft"},p),n.only.length>0&&o("span",{class:"tl-only"},"only "+n.only.map(m=>s.ranks[m]).join(" and "),o("button",{class:"quiet",title:"All ranks (key: r)","a\
ria-label":"All ranks",on:{click:()=>i.set({only:null})}},"✕")),n.by==="wall"&&s.steps.length>1&&h.picker(s.ranks,n.rank,t.context.capture?.fixes??[],m=>i.set(
{set:m},"push")),n.by==="wall"&&h.outcome()!==""&&o("span",{class:"tl-soft tl-outcome",title:h.outcome()},h.outcome()),o("span",{class:"space"}),s.steps.length>
1&&o("button",{class:"button","aria-pressed":String(u),title:"Ranks × steps (key: h)",on:{click:()=>i.set({heat:u?"off":s.measure})}},"map"),o("button",{class:"\
button",title:"The whole capture (key: 0)",on:{click:()=>r.whole()}},"whole"),o("button",{class:"button","aria-label":"Zoom out",title:"Zoom out (key: s)",on:{click:()=>r.
zoom(2,t.width/2)}},"−"),o("button",{class:"button","aria-label":"Zoom in",title:"Zoom in (key: w)",on:{click:()=>r.zoom(.5,t.width/2)}},"+"),e),d===l?l.focus():
d?.classList.contains("tl-whatif")&&a.querySelector(".tl-whatif")?.focus()}var rr=200,ar=2,or=[-1,-1],Cn=class{constructor(t,e){this.context=t;this.head=e;this.all=pe(e),this.state=ue(this.store.params,e),this.source=new qe(e,this.store.
params.c,()=>this.draw("lanes"));let{tiles:n,names:s}=this.source;this.painter=new jt(o("canvas",{class:"lanes",role:"img","aria-label":"Spans of all rows"}),n,
s),this.minimap=new be(o("canvas",{role:"img","aria-label":"The whole capture"}),n,e),this.heat=new me(e,{load:r=>this.source.heat(r),choose:r=>this.store.set({
heat:r}),pick:(r,l)=>this.moves.compare(r,l),brush:(r,l)=>this.moves.steps(r,l,"push")},()=>this.draw("heat")),this.ghosts=new Me(this.store.params.c,t.session.
exported?.whatif??null,()=>{this.draw("lanes","gutter"),Pn(this.tools,this,this.length)});let i=t.capture?.load||null;this.load=i===null?null:new fe(i,t.capture.
id,this.all,()=>{this.draw("lanes"),this.state.range!==null&&this.state.sel<0&&this.sum()}),this.panel=new Ae(e,{go:r=>this.moves.go(r),sort:r=>this.store.set({
sort:r}),close:()=>this.clear(),alike:r=>{this.moves.alike(r)},ranks:r=>this.store.set({rows:r===null?null:le(this.rowsOf(r))}),dock:r=>this.store.set({panel:r})},
this.el,this.source.exported),this.spacer.append(this.gutter,o("div",{class:"tl-stage"},this.painter.canvas,this.strips,this.overlay.canvas)),this.body.append(this.
spacer),this.el.append(this.tools,this.heat.el,o("div",{class:"tl-above tl-mini"},o("div",{class:"legend"},"all recorded"),this.minimap.canvas),o("div",{class:"\
tl-above tl-rule"},this.legend,this.ruler.canvas),this.load?.el??"",this.body,this.panel.el,this.classes),new Pe(this,this.moves).listen(),this.moves.bind(),this.
watch=new ResizeObserver(()=>{this.hold(),this.draw("lanes","heat","gutter")}),this.watch.observe(this.body),this.apply(this.store.params,null),this.count()}context;head;el=o(
"div",{class:"tl"});all;source;state;plan={groups:[],lanes:[],height:0};alignment=null;found=null;selected=null;pointer={x:-1,y:-1,box:null};crossing=null;palette=_n();ribbons=[];moved=new Map;dirty=new Set;frame=0;settle=0;settled="";arrived=!1;high=0;waits=new Map;watch;painter;overlay=new Se(
o("canvas",{class:"overlay"}));ruler=new j(o("canvas",{role:"img","aria-label":"Time, steps and collectives"}));minimap;heat;ghosts;load;moves=new ke(this);body=o(
"div",{class:"tl-body",tabindex:"0",role:"region","aria-label":"Rows of all ranks"});search=o("input",{type:"search",placeholder:"Search names  /","aria-label":"\
Search names of spans"});panel;gutter=o("div",{class:"tl-gutter"});strips=o("canvas",{class:"tl-strips"});spacer=o("div",{class:"tl-spacer"});length=o("span",{class:"\
length",title:"Visible time"});tools=o("div",{class:"tl-tools"});legend=o("div",{class:"legend"});classes=o("p",{class:"tl-classes","aria-label":"Colours"});get store(){
return this.context.store}get width(){return Math.max(this.body.clientWidth-Ft(this.body.clientWidth),50)}attached(){let{rank:t,sel:e,y:n}=this.state,s=this.plan.
groups.find(i=>i.rank===t);this.body.scrollTop=this.store.params.y!==void 0||e>=0||s===void 0?n:Bt(this.body,{...s,lane:-1,row:-1}),this.panel.dock.measure()}count(){
let{tiles:t}=this.source;window.__stats=Object.assign(this.painter.stats,{received:()=>t.received,requests:()=>t.requests,kept:()=>t.kept(),idle:()=>Nt()&&this.
frame===0,shown:()=>this.state.view,box:()=>this.box(),selected:()=>this.selected,step:e=>this.head.steps[e],look:e=>{let n=this.head.steps[this.head.steps.length-
1]??{start_ns:this.all.t0,end_ns:this.all.t1};this.moves.look(e((n.start_ns+n.end_ns)/2))}})}hold(){let{selected:t,body:e,high:n}=this,s=t===null?void 0:this.plan.
lanes.find(i=>i.lane===t.lane);this.high=e.clientHeight,t!==null&&s!==void 0&&s.y+s.height>e.scrollTop&&s.y<e.scrollTop+n&&this.moves.reveal(t)}box(){let t=this.
selected,{view:e}=this.state,n=e.t1-e.t0;if(t===null)return null;let{start:s,end:i}=this.shown(t),r=this.plan.lanes.find(h=>h.lane===t.lane),l=this.body.scrollTop;
return{left:(s-e.t0)/n,width:(i-s)/n,seen:r!==void 0&&r.y>=l&&r.y+r.height<=l+this.body.clientHeight}}wait(t){this.done(t),pt(new Promise(e=>this.waits.set(t,e)))}done(t){
this.waits.get(t)?.(),this.waits.delete(t)}update(t,e){this.apply(t,e)}apply(t,e){let n=(...l)=>e===null||l.some(h=>t[h]!==e[h]),s=ue(t,this.head);this.moves.pending&&
!n("t0","t1")&&(s.view=this.state.view),this.state=s,n("only","open")&&(this.plan=ft(this.head,s.open,s.only),this.stretchTo(this.plan.height),this.colours());let i=n(
"panel")&&this.panel.dock.show(t.panel)&&e!==null;i&&s.range===null&&this.select(),n("y","only","open")&&Math.abs(this.body.scrollTop-s.y)>1&&(this.body.scrollTop=
s.y),n("align","step","at")&&(e===null||s.by!==this.alignment?.by||s.by!=="wall")&&this.align(),this.heat.marked=s.found,n("heat")&&this.heat.show(s.heat).then(
()=>this.draw("heat")),n("set")&&this.ghosts.show(t.set),n("q")&&this.seek(),n("rank","sel")&&(e===null||this.selected?.rank!==s.rank||this.selected?.span!==s.sel)&&
this.select(),(i||n("r0","r1","rows","only","open","align","step","at","sort"))&&s.sel<0&&this.sum(),this.draw("lanes","overlay","heat"),(e===null||Object.keys(
{...t,...e}).some(l=>!["t0","t1","y"].includes(l)&&n(l)))&&(this.draw("gutter"),Pn(this.tools,this,this.length))}stretchTo(t){this.spacer.style.height=t+"px"}align(){
this.source.align(this.state).then(t=>{this.state.by===t.by&&(this.alignment=t,this.settled="",this.draw("lanes","overlay","gutter"))})}seek(){let{q:t}=this.state;
if(this.search.value!==t&&document.activeElement!==this.search&&(this.search.value=t),t===""){this.found!==null&&this.state.sel<0&&this.state.range===null&&this.
panel.hide(),this.found=null;return}this.source.search(t,this.rows(),this.state.view.t0,!1).then(e=>{this.state.q===t&&(this.found=e,this.state.sel<0&&this.state.
range===null&&this.panel.found(e,t),this.draw("lanes"))})}select(){let{rank:t,sel:e}=this.state;if(e<0){this.selected=null,this.state.range===null&&(this.found!==
null?this.panel.found(this.found,this.state.q):this.panel.hide());return}this.source.span(t,e).then(n=>{this.state.rank!==t||this.state.sel!==e||(this.selected=
n,this.panel.span(n),(this.arrived||this.store.params.y===void 0)&&this.moves.reveal(n),!this.arrived&&this.store.params.t0===void 0&&this.moves.frame(n),this.arrived=
!0,this.draw("overlay","lanes"))}).catch(n=>this.lacking(n))}sum(){let{range:t,sort:e}=this.state;if(t===null){this.found===null&&this.panel.hide();return}let{rows:n}=this.
state;this.source.range(this.state,n.length>0?n.join(","):this.rows()).then(s=>{this.state.range?.t0!==t.t0||this.state.range.t1!==t.t1||this.state.rows.join()!==
n.join()||this.state.sel>=0||(this.panel.range(s,this.plan.groups.map(i=>i.rank),n.length>0,e,this.during(t)),this.draw("overlay","lanes"))}).catch(s=>this.lacking(
s))}during(t){let{load:e}=this;if(e===null||this.state.by!=="wall")return!1;let n=e.during(t),s=40;return o("p",{class:"tl-requests"},`Requests in progress: ${n.
length===0?"none":n.length} `,...n.slice(0,s).map(i=>o("a",{class:"chip",href:e.link(this.store.params,t,i)},String(i))),n.length>s&&` and ${n.length-s} more`)}lacking(t){
if(!(t instanceof I)||t.status===0)throw t;this.selected=null,this.panel.note(t.message),this.draw("overlay","lanes")}rows(){return this.plan.groups.flatMap(t=>t.
rows.map(e=>e.row)).join(",")}rowsOf(t){return this.plan.groups.filter(n=>t.includes(n.rank)).map(n=>({rank:n.rank,rows:n.rows.map(s=>s.row)})).flatMap(n=>{let s=n.
rows.filter(i=>this.state.rows.includes(i));return s.length>0?s:n.rows})}forget(){let{range:t,rows:e}=ue(this.store.params,this.head);Object.assign(this.state,{
range:t,rows:e}),this.draw("overlay")}unpoint(){this.pointer.box=null,this.crossing=null,P()}clear(){this.store.set({sel:null,r0:null,r1:null,rows:null}),this.panel.
hide()}time(t){return this.state.view.t0+t/this.width*(this.state.view.t1-this.state.view.t0)}shown(t){if(this.state.by==="stretched")return{start:t.stretched_ns[0],
end:t.stretched_ns[1]};let e=this.alignment?.moved_ns[t.rank]??0;return{start:t.start_ns+e,end:t.start_ns+e+t.dur_ns}}draw(...t){for(let e of t)this.dirty.add(e);
this.frame===0&&(this.frame=requestAnimationFrame(()=>this.paint()))}restyle(){this.palette=_n(),this.painter.restyle(),this.draw("lanes","heat","overlay","gutt\
er");let t=document.documentElement.dataset.print!==void 0;this.el.style.width=t?this.el.clientWidth+"px":"",this.el.style.zoom=t?String(Math.min(720/this.el.clientWidth,
1)):"",t&&(cancelAnimationFrame(this.frame),this.paint())}colours(){let t=new Set(this.plan.groups.flatMap(e=>e.rows.flatMap(n=>this.head.rows[n.row].classes)));
y(this.classes,...[...t].sort((e,n)=>e-n).map(e=>o("span",{class:"key"},Re(e),this.head.classes[e])),this.head.stretch&&o("span",{class:"key"},o("i",{class:"tl-\
swatch tl-waits"}),"waits for other ranks"))}scene(){let t=this.body.scrollTop,e=this.body.clientHeight,{view:n}=this.state,s=[],{lanes:i}=we(this.head,this.state.
only);if(this.state.by==="wall"&&i.length===1){let{steps:d}=i[0],[u,p]=xe(d,n);if((p-u)*40<this.width)for(let m=u;m<p;m++)d[m].end_ns!==0&&s.push(d[m].start_ns)}
let r=this.plan.groups.filter(d=>d.y+d.height>t&&d.y<t+e),l=ar*(n.t1-n.t0)/this.width,h=this.state.by==="wall"?vs(ce(this.ghosts.all,n),r,l,rr):[];return{view:n,
width:this.width,height:e,top:t,lanes:_t(this.plan.lanes,t,t+e),lines:s,bands:h,moved:this.alignment?.moved_ns??[],stretched:this.state.by==="stretched",palette:this.
palette,found:this.found===null?null:new Set(this.found.ids)}}otherwise(t){return t.length===1?this.ghosts.words():""}above(){let{lanes:t}=we(this.head,this.state.
only);return{view:this.state.view,width:this.width,palette:this.palette,lanes:t,wall:this.state.by==="wall",ribbons:this.ribbons,picked:this.state.step,otherwise:this.
otherwise(t)!=="",ghosts:this.ghosts.over}}paint(){this.frame=0;let t=performance.now(),e=this.dirty,{stats:n}=this.painter,s=Ft(this.body.clientWidth)+"px";this.
el.style.getPropertyValue("--gutter")!==s&&this.el.style.setProperty("--gutter",s),this.dirty=new Set,!(!this.el.isConnected||this.body.clientHeight===0)&&(e.has(
"lanes")?this.lanes():e.has("overlay")&&this.marks(),e.has("gutter")&&(ys(this.gutter,this.head,this.plan,this.state.rank,this.alignment,i=>this.moves.turn(i)),
this.gutter.style.height=Math.max(this.plan.height,this.body.clientHeight)+"px",this.legends()),e.has("heat")&&this.heat.paint(this.palette),n.script.push(performance.
now()-t),n.script.length>4e3&&n.script.splice(0,2e3))}legends(){let t=this.state.by==="wall",{lanes:e,left:n}=we(this.head,this.state.only),s=Dt(e.length),i=this.
otherwise(e);y(this.legend,o("div",null,this.state.by==="stretched"?"stretched time":"time",t&&n>0&&`; steps of ${n} more replicas not shown`),...t?e.map(r=>{let l=o(
"div",{class:s<18?"low":null},r.name===""?"steps":"steps of "+r.name);return l.style.height=s+"px",l}):[],t&&i!==""&&o("div",{title:"if "+i},"if "+i),t&&this.head.
stretch&&o("div",null,"waits in collectives"))}lanes(){let t=this.scene(),{level:e,needs:n}=jt.needs(t),{tiles:s}=this.source;this.painter.paint(t);for(let d of[
this.painter.canvas,this.overlay.canvas,this.strips])d.style.height=t.height+"px";for(let d of[this.painter.canvas,this.overlay.canvas,this.strips,this.ruler.canvas,
this.minimap.canvas])d.style.width=t.width+"px";let i=this.minimap.needs(this.all,this.width);s.load(n,e,t.stretched),s.load(i.needs,i.level,!1),this.minimap.canvas.
style.height=Tt+"px",this.minimap.paint(this.all,t.view,this.width,this.palette);let r=this.above(),l=j.height(r,this.head.stretch);this.ruler.canvas.style.height=
l+"px",this.ruler.paint(r,l);let h=Cs(t.view);this.length.textContent!==h&&(this.length.textContent=h),this.load?.paint(this.state.by==="wall"?t.view:null,t.width,
this.palette,this.store.params),this.offsets(t),this.rest(t),this.heat.view(...r.wall&&r.lanes.length>0?this.stepsShown():or),this.marks()}stepsShown(){let[t,e]=xe(
this.head.steps,this.state.view);return e>t?[t,e-1]:[-1,-1]}marks(){let t=this.selected,e=this.scene();this.painter.stats.overlays++,this.overlay.paint({...e,lanes:new Map(
e.lanes.map(n=>[n.lane,n])),place:n=>this.shown(n),selected:t,counterparts:t===null?[]:t.counterparts.filter(n=>n.span>=0),flows:t===null?[]:t.launch!==null?[[t.
launch,t]]:t.launched.slice(0,30).map(n=>[t,n]),range:this.state.range,rows:this.state.rows.length>0?new Set(this.state.rows):null,collective:this.crossing?.links??
null,last:this.crossing?.of.last_ns??0},this.pointer)}offsets(t){let e=t.stretched&&this.moved.size>0,n=this.alignment!==null&&(this.state.by==="step"||this.state.
by==="collective");if(this.strips.hidden=!e&&!n,this.strips.hidden)return;let s=e?this.moved:new Map((this.alignment?.moved_ns??[]).map((r,l)=>[l,[r]])),i=Math.
max(...[...s.values()].map(r=>Math.max(...r.map(Math.abs))),1);ks(this.strips,this.plan,t.top,t.width,t.height,s,i,this.palette.name("medium"))}rest(t){let{t0:e,
t1:n}=t.view,s=this.plan.groups.filter(r=>r.y+r.height>t.top&&r.y<t.top+t.height).map(r=>r.rank),i=JSON.stringify([e,n,this.state.by,t.stretched?s:0]);i===this.
settled||!this.head.stretch||this.state.by!=="wall"&&!t.stretched||(this.settled=i,clearTimeout(this.settle),this.wait("rest"),this.settle=window.setTimeout(()=>{
let r=Math.floor(e),l=Math.ceil(n),h=t.stretched?this.source.moved(s,r,l,240).then(d=>{this.moved=new Map(s.map((u,p)=>[u,d[p]]))}):this.source.ribbons(r,l).then(
d=>{this.ribbons=d});this.done("rest"),h.then(()=>this.draw("lanes"))},80))}close(){this.moves.close(),clearTimeout(this.settle);for(let t of[...this.waits.keys()])
this.done(t);cancelAnimationFrame(this.frame),this.watch.disconnect(),P()}},$n=class{el=o("div",null);view=null;closed=!1;constructor(t){M("timeline/head",{c:t.
store.params.c}).then(e=>{this.closed||(this.view=new Cn(t,e),this.el.replaceChildren(this.view.el),this.view.attached(),this.view.draw("lanes","heat","gutter"))})}update(t,e){
this.view?.update(t,e)}restyle(){this.view?.restyle()}close(){this.closed=!0,this.view?.close()}},Ks={id:"timeline",title:"Timeline",needs:"capture",open:a=>new $n(
a)};function lr(a,t,e){let n=e.startsWith("-"),s=t.find(l=>l.id===(n?e.slice(1):e)),i=a.slice();if(!s)return i;let r=n?-1:1;if(s.num){let l=s.num.bind(s);return i.sort(
(h,d)=>{let u=l(h),p=l(d);return Number.isNaN(u)||Number.isNaN(p)?Number(Number.isNaN(u))-Number(Number.isNaN(p)):r*(+(u>p)-+(u<p))})}return i.sort((l,h)=>r*s.text(
l).localeCompare(s.text(h),"en"))}function hr(a,t,e){let n=e.toLowerCase().split(/\s+/).filter(s=>s!=="");return a.filter(s=>{let i=t(s).toLowerCase();return n.
every(r=>i.includes(r))})}function Hn(a){return a.map(t=>{if(typeof t=="number")return Number.isFinite(t)?String(t):"";let e=/^[=+\-@\t\r]/.test(t)?"'"+t:t;return/[",\r\n]/.
test(e)?'"'+e.replace(/"/g,'""')+'"':e}).join(",")+`\r
`}function Xs(a,t,e){let n=URL.createObjectURL(new Blob([e],{type:t}));o("a",{href:n,download:a}).click(),setTimeout(()=>URL.revokeObjectURL(n),1e4)}var dr=100,
Rt=class{constructor(t,e,n,s,i,r){this.store=t;this.columns=n;this.usual=s;this.key=i;this.onpick=r;this.el.setAttribute("aria-label",e)}store;columns;usual;key;onpick;el=o(
"div",{class:"table",role:"region",tabindex:"0"});rows=[];shown(){let{q:t="",sort:e=this.usual}=this.store.params;return lr(hr(this.rows,this.key,t),this.columns,
e)}set(t,e=this.columns){this.rows=t,this.columns=e,this.draw()}draw(){let{sort:t=this.usual,sel:e,all:n}=this.store.params,s=this.shown(),i=n==="1"?s:s.slice(0,
dr),r=o("tr",null,...this.columns.map(h=>{let d=t.replace(/^-/,"")===h.id,u=t.startsWith("-"),p=d?u?h.id:"-"+h.id:h.num?"-"+h.id:h.id;return o("th",{scope:"col",
class:(h.num?"r ":"")+(h.class??""),"aria-sort":d?u?"descending":"ascending":null,title:h.help},o("button",{on:{click:()=>this.store.set({sort:p===this.usual?null:
p})}},h.title,d&&o("span",{"aria-hidden":"true"},u?" ▾":" ▴")))})),l=i.map(h=>{let d=o("tr",{class:e!==void 0&&this.key(h)===e?"selected":null},...this.columns.
map(u=>o("td",{class:(u.num?"r ":"")+(u.class??"")},u.cell?u.cell(h):u.text(h))));return this.onpick&&d.addEventListener("click",u=>u.target.closest("a, button")===
null&&this.onpick(h)),d});y(this.el,o("table",null,o("thead",null,r),o("tbody",null,...l))),s.length===0&&this.el.append(o("p",{class:"none"},this.rows.length===
0?"There are no rows.":"No row matches.")),s.length>i.length&&this.el.append(o("button",{class:"more button",on:{click:()=>this.store.set({all:"1"})}},`Show all\
 ${s.length}`))}};function J(a,t){return a.total[t]/Math.max(a.steps,1)}function Ne(a,t){return a.other[t]/Math.max(a.other_steps,1)}function Ys(a){let t=a.parent.length,e=a.other.
length>0,n={first:new Int32Array(t),last:new Int32Array(t),weight:new Float64Array(t),depth:new Int32Array(t)};for(let i=1;i<t;i++){let r=a.parent[i];n.last[r]===
0&&(n.first[r]=i),n.last[r]=i+1,n.depth[i]=n.depth[r]+1}let s=new Float64Array(t);for(let i=t-1;i>=0;i--)n.weight[i]=Math.max(J(a,i),e?Ne(a,i):0,s[i]),i>0&&(s[a.
parent[i]]+=n.weight[i]);return n}function Js(a,t,e,n){let s=[],i=t.weight[e];if(!(i>0))return s;let r=[{node:e,depth:0,x:0,w:1}];for(let l=r.pop();l;l=r.pop()){
s.push(l);let h=l.x;for(let d=t.first[l.node];d<t.last[l.node];d++){if(a.parent[d]!==l.node)continue;let u=t.weight[d]/i;u>=n&&r.push({node:d,depth:l.depth+1,x:h,
w:u}),h+=u}}return s}function Qs(a,t){let e=0;for(;t.last[e]-t.first[e]===1&&!a.kernel[t.first[e]]&&t.weight[t.first[e]]>=.98*t.weight[e];)e=t.first[e];return e}
function Oe(a,t){let e=[];for(;t>0;t=a.parent[t])e.push(t);return e.reverse()}function Zs(a,t){let e=J(a,t),n=Ne(a,t),s=Math.max(e,n);return s>0?(e-n)/s:0}var Q=19,pr=60;function ur([a,t,e]){let[n,s,i]=[a,t,e].map(r=>r/255<=.03928?r/255/12.92:Math.pow((r/255+.055)/1.055,2.4));return .2126*n+.7152*s+.0722*i>.179?"#\
000000":"#ffffff"}var ze=class{constructor(t){this.onpick=t;this.sizes.observe(this.el),this.ground.addEventListener("pointermove",e=>this.point(this.hit(e.offsetX,
e.offsetY),e.offsetX,e.offsetY)),this.ground.addEventListener("pointerleave",()=>this.point(-1)),this.ground.addEventListener("blur",()=>this.point(-1)),this.ground.
addEventListener("click",e=>{let n=this.hit(e.offsetX,e.offsetY);n>=0&&this.onpick(this.drawn[n].node)}),this.ground.addEventListener("keydown",e=>this.key(e.key)&&
(e.preventDefault(),e.stopPropagation()))}onpick;el=o("div",{class:"flame"});ground=this.el.appendChild(o("canvas",{tabindex:"0",role:"img"}));over=this.el.appendChild(
o("canvas",{class:"over","aria-hidden":"true"}));flame=null;tree=null;drawn=[];focus=0;at=-1;lit=()=>!1;sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.
draw()));set(t,e){this.flame=t,this.tree=Ys(t),this.zoom(e)}get walk(){return this.tree}zoom(t){this.focus=this.flame&&t<this.flame.parent.length?t:0,this.at=-1,
this.draw()}light(t){this.lit=t,this.draw()}drop(){this.sizes.disconnect(),P()}hit(t,e){let n=this.ground.clientWidth,s=Math.floor(e/Q);return this.drawn.findIndex(
i=>i.depth===s&&t>=i.x*n&&t<(i.x+i.w)*n)}draw(){let t=this.flame,e=this.tree,n=this.el.clientWidth,s=window.devicePixelRatio||1;if(!t||!e||n===0)return;this.drawn=
Js(t,e,this.focus,.7/n).filter(d=>d.depth<pr);let i=(this.drawn.reduce((d,u)=>Math.max(d,u.depth),0)+1)*Q;for(let d of[this.ground,this.over])d.style.height=i+"\
px",d.width=Math.round(n*s),d.height=Math.round(i*s);this.el.style.height=i+"px",this.ground.setAttribute("aria-label",`Flame graph of ${t.names[t.name[this.focus]]||
"all work"}: arrows move, Enter zooms in, Escape out`);let r=this.ground.getContext("2d");if(!r)return;r.setTransform(s,0,0,s,0,0),r.font="11px system-ui, sans-\
serif",r.textBaseline="middle";let l=nt(),h=new Map;for(let d of this.drawn){let u=this.colorOf(t,d.node),p=h.get(u);if(!p){let x=u.startsWith("=")?this.difference(
l,Number(u.slice(1))):H(l(u));h.set(u,p=[`rgb(${x.join()})`,ur(x)])}let m=d.x*n,c=d.w*n,f=d.depth*Q;r.fillStyle=p[0],r.fillRect(m,f,Math.max(c-(c>4?1:0),.5),Q-1);
let b=t.names[t.name[d.node]]||"all";this.lit(t.full[t.name[d.node]]||b)&&(r.fillStyle=l("mark"),r.fillRect(m,f+Q-4,Math.max(c-1,1),3)),!(c<40)&&(r.fillStyle=p[1],
r.fillText(mr(r,b,c-8),m+4,f+Q/2))}this.mark()}colorOf(t,e){if(t.other.length>0)return"="+Math.round(Zs(t,e)*10)/10;if(t.parent[e]<0)return"idle";let n=t.class[t.
name[e]]||t.class[t.name[t.parent[e]]];return n?n.toLowerCase():cr(t,e)%2?"between":"idle"}difference(t,e){return e>=0?F([H(t("cold")),H(t("warm")),H(t("high"))],
e):F([H(t("cold")),H(t("under"))],-e)}point(t,e,n){this.at=t,this.mark();let s=this.drawn[t],i=this.flame;if(!s||!i)return P();N(this.ground,e??s.x*this.ground.
clientWidth+10,n??(s.depth+.5)*Q,{title:i.full[i.name[s.node]]||i.names[i.name[s.node]]||"all work",rows:this.facts(i,s.node)})}facts(t,e){let n=[["GPU time per\
 step",g(J(t,e))],["of all",_(J(t,e)/Math.max(J(t,0),1e-9))],["kernels per step",String(Number((t.count[e]/Math.max(t.steps,1)).toPrecision(4)))]];if(t.other.length>
0){let s=Ne(t,e);n.push(["in the other capture",g(s)],["difference",O(J(t,e)-s)+(s>0?`, ${J(t,e)>=s?"+":""}${_(J(t,e)/s-1)}`:"")])}return n}mark(){let t=this.over.
getContext("2d"),e=window.devicePixelRatio||1,n=this.drawn[this.at];if(!t||(t.setTransform(e,0,0,e,0,0),t.clearRect(0,0,this.over.width,this.over.height),!n))return;
t.strokeStyle=nt()("mark"),t.lineWidth=2;let s=this.ground.clientWidth;t.strokeRect(n.x*s+1,n.depth*Q+1,Math.max(n.w*s-3,1),Q-3)}key(t){let e=this.flame;if(!e||
this.drawn.length===0)return!1;let n=this.drawn[this.at]??null,s=(i,r)=>{let l=n?n.x+n.w/2:0,h=-1,d=1/0;return this.drawn.forEach((u,p)=>{let m=u.x+u.w/2,c=r===
0?Math.max(u.x-l,l-(u.x+u.w),0):r*(m-l);u.depth===i&&u!==n&&c>=0&&c<d&&(h=p,d=c)}),h};switch(t){case"ArrowDown":case"ArrowUp":case"ArrowLeft":case"ArrowRight":{
let i=n?n.depth+(t==="ArrowDown"?1:t==="ArrowUp"?-1:0):0,r=s(i,t==="ArrowLeft"?-1:t==="ArrowRight"?1:0);return r>=0&&this.point(r),!0}case"Enter":return n?(this.
onpick(n.node),!0):!1;case"Escape":{let i=Oe(e,this.focus).at(-2)??0;return this.focus===0?!1:(this.onpick(i),!0)}}return!1}};function cr(a,t){let e=0;for(;a.parent[t]>=
0;t=a.parent[t])e++;return e}function mr(a,t,e){if(a.measureText(t).width<=e)return t;let n=0,s=t.length;for(;n<s;){let i=n+s+1>>1;a.measureText(t.slice(0,i)+"…").
width<=e?n=i:s=i-1}return n>1?t.slice(0,n)+"…":""}var Ie={kernel:{title:"Kernel",one:"kernel"},class:{title:"Class",one:"class of kernels"},op:{title:"Op",one:"CPU op"},layer:{title:"Layer",one:"layer or module"},
frame:{title:"Python",one:"Python function"}},fr=["c","by","rank","kind","vs"],qn=class{constructor(t){this.context=t;let{store:e,keys:n}=t;this.table=new Rt(e,
"GPU work",[],"-total",s=>s.full||s.name,s=>{let i=s.full||s.name;e.set({sel:e.params.sel===i?null:i})}),this.search.addEventListener("input",()=>e.set({q:this.
search.value,all:null})),n.bind("/","Kernels","filter",()=>this.search.focus()),n.bind("g","Kernels","next grouping",()=>{let s=this.offered();this.choose({by:s[(s.
indexOf(this.by())+1)%s.length]})}),n.bind("Escape","Kernels","zoom out, clear the selection",()=>{e.params.sel!==void 0?e.set({sel:null}):e.set({node:null,q:null})}),
n.bind("c","Kernels","save the table as CSV",()=>this.csv()),y(this.el,this.tools,this.crumbs,this.graph.el,o("p",{class:"keys under-flame"}),this.table.el),this.
head(),this.ask()}context;el=o("div",{class:"kernels"});graph=new ze(t=>this.context.store.set({node:t===0?null:t},"push"));table;crumbs=o("p",{class:"crumbs"});tools=o(
"div",{class:"tools"});found=o("span",{class:"soft",role:"status"});search=o("input",{type:"search",placeholder:"Filter","aria-label":"Filter"});rows=null;flame=null;asking=new AbortController;offered(){
let t=this.context.capture?.groups??["kernel","class","op"];return Object.keys(Ie).filter(e=>t.includes(e))}by(){let{by:t}=this.context.store.params,e=this.offered();
return t!==void 0&&e.includes(t)?t:e[0]}choose(t){this.context.store.set({node:null,sel:null,all:null,...t})}head(){let{session:t,capture:e,store:n}=this.context,
s=n.params,i=this.by(),r=o("select",{"aria-label":"Steps of kind",on:{change:()=>this.choose({kind:r.value})}},o("option",{value:""},"all steps"),...(e?.kinds??
[]).map(p=>o("option",{value:p},p)));r.value=s.kind??"";let l=o("select",{"aria-label":"Rank",on:{change:()=>this.choose({rank:l.value})}},o("option",{value:""},
"all ranks"),...(e?.ranks??[]).map((p,m)=>o("option",{value:String(m)},p)));l.value=s.rank??"";let h="a run",d=Zt(t).filter(p=>p.id!==(s.c??t.captures[0]?.id)),
u=o("select",{"aria-label":"Compared with",on:{change:()=>u.value===h?n.go(A(s,{tab:"runs"})):this.choose({vs:u.value})}},o("option",{value:""},s.vs===void 0?"c\
ompare with …":"no comparison"),...d.map(p=>o("option",{value:p.id},"against "+p.title)));s.vs!==void 0&&!d.some(p=>p.id===s.vs)&&u.append(o("option",{value:s.
vs},"against "+s.vs)),t.runs&&u.append(o("option",{value:h},"a run from the list …")),u.value=s.vs??"",document.activeElement!==this.search&&(this.search.value=
s.q??""),y(this.tools,o("span",{role:"group","aria-label":"By"},...this.offered().map(p=>o("button",{class:"choice","aria-pressed":String(p===i),title:"by "+Ie[p].
one,on:{click:()=>this.choose({by:p===this.offered()[0]?null:p})}},Ie[p].title))),(e?.kinds.length??0)>1&&r,(e?.ranks.length??0)>1&&(t.exported?.kernel_ranks??!0)&&
l,u.options.length>1&&u,o("span",{class:"space"}),this.found,this.search,o("button",{class:"button",title:"Save the rows as shown (key: c)",on:{click:()=>this.csv()}},
"CSV"))}ask(){this.asking.abort(),this.asking=new AbortController;let{signal:t}=this.asking,e=this.context.store.params,n={c:e.c,by:this.by(),rank:e.rank,kind:e.
kind,vs:e.vs};Promise.all([M("kernels",n,t),M("flame",{...n,by:n.by==="kernel"?"class":n.by},t)]).then(([i,r])=>{this.rows=i,this.flame=r,this.show()}).catch(i=>{
if(!t.aborted)throw i})}columns(t){let e=c=>c/Math.max(t.steps,1),n=c=>c/Math.max(t.other_steps,1),s=this.by(),i=s==="kernel",r=s!=="kernel"&&s!=="class",l=t.other_steps>
0,h=this.context.store,d=t.rows.reduce((c,f)=>Math.max(c,e(f.total_ns),n(f.other_total_ns)),1e-9),u=c=>c>0&&c<.01?"< 0.01":Number.isInteger(c)?S(String(c)):et(c),
p={id:"name",title:Ie[s].title,class:"name",text:c=>c.full||c.name,cell:c=>o("span",{class:"named"},c.class!==""&&gr(c.class),o("code",{title:c.full||c.name},c.
name),i&&o("a",{class:"find",href:C(A(h.params,{tab:"timeline",q:c.full||c.name})),title:"Find it in the timeline"},"find"))},m=(c,f)=>c>0?f:"";if(l){let c=f=>f.
other_total_ns>0?e(f.total_ns)/n(f.other_total_ns)-1:NaN;return[p,{id:"total",title:"this",help:"GPU time per step, mean over ranks",num:f=>e(f.total_ns),text:f=>m(
f.total_ns,g(e(f.total_ns)))},{id:"other",title:"other",help:"the same in the other capture",num:f=>n(f.other_total_ns),text:f=>m(f.other_total_ns,g(n(f.other_total_ns)))},
{id:"diff",title:"difference",help:"per step",num:f=>Math.abs(e(f.total_ns)-n(f.other_total_ns)),text:f=>O(e(f.total_ns)-n(f.other_total_ns)),cell:f=>vr(e(f.total_ns)-
n(f.other_total_ns),d)},{id:"change",title:"change",num:c,text:f=>f.other_total_ns===0?"new":f.total_ns===0?"gone":(c(f)>0?"+":"")+_(c(f))},{id:"count",title:"k\
ernels",help:"per step and rank",num:f=>f.count/Math.max(t.steps,1),text:f=>u(f.count/Math.max(t.steps,1))},{id:"count2",title:"other",num:f=>f.other_count/Math.
max(t.other_steps,1),text:f=>u(f.other_count/Math.max(t.other_steps,1))},...t.wait_ns+t.other_wait_ns>0?[{id:"wait",title:"waits",help:ti,num:f=>e(f.wait_ns),text:f=>m(
f.wait_ns,g(e(f.wait_ns)))},{id:"wait2",title:"other",num:f=>n(f.other_wait_ns),text:f=>m(f.other_wait_ns,g(n(f.other_wait_ns)))}]:[],...i?[{id:"median",title:"\
median",num:f=>f.median_ns,text:f=>m(f.median_ns,g(f.median_ns))},{id:"median2",title:"other",num:f=>f.other_median_ns,text:f=>m(f.other_median_ns,g(f.other_median_ns))}]:
[]]}return[p,{id:"total",title:"per step",help:"GPU time per step, mean over ranks"+(t.wait_ns>0?", without waits for other ranks":"")+(r?", including everythin\
g inside":""),num:c=>c.total_ns,text:c=>g(e(c.total_ns))},...r?[{id:"self",title:"own",help:"launched directly, not by anything inside it",num:c=>c.self_ns,text:c=>m(
c.self_ns,g(e(c.self_ns)))}]:[],{id:"share",title:"share",num:c=>c.total_ns,text:c=>_(c.total_ns/Math.max(t.total_ns,1)),class:"share",cell:c=>br(c,e(c.total_ns)/
d,c.total_ns/Math.max(t.total_ns,1))},...t.wait_ns>0?[{id:"wait",title:"waits",help:ti,num:c=>c.wait_ns,text:c=>m(c.wait_ns,g(e(c.wait_ns)))}]:[],{id:"count",title:"\
kernels",help:"per step and rank",num:c=>c.count,text:c=>m(c.count,u(c.count/Math.max(t.steps,1)))},...t.rows.some(c=>c.role!=="")?[{id:"role",title:"role",help:"\
the modules of the model whose main kernel this is",text:c=>c.role,cell:c=>ni(c.role,c.role)},{id:"floor",title:"floor",help:"per step: the least time of these \
modules at the peaks of the device",num:c=>c.floor_ns,text:c=>m(c.floor_ns,g(e(c.floor_ns)))}]:[],...i?[{id:"median",title:"median",num:c=>c.median_ns,text:c=>g(
c.median_ns)},{id:"p99",title:"p99",num:c=>c.p99_ns,text:c=>g(c.p99_ns)},{id:"max",title:"longest",num:c=>c.max_ns,text:c=>g(c.max_ns)},{id:"spread",title:"over\
 ranks",help:"the rank with the longest median, beside the one with the shortest; or the only rank that runs it",num:c=>c.only_rank?1/0:c.rank_spread,text:ei,cell:c=>o(
"span",{title:c.only_rank||c.rank_spread<si?"":`the median on ${c.slowest_rank}, beside ${c.fastest_rank}, which has the shortest`},ei(c))},...t.rows.some(c=>c.
tflop_s>0)?[{id:"tflops",title:"TFLOP/s",num:c=>c.tflop_s,text:c=>m(c.tflop_s,u(c.tflop_s))}]:[],...t.rows.some(c=>c.gb_s>0)?[{id:"gbs",title:"GB/s",num:c=>c.gb_s,
text:c=>m(c.gb_s,u(c.gb_s))}]:[]]:[],...t.rows.some(c=>c.source!=="")?[{id:"source",title:"source",help:"the place in the program that launches it",text:c=>c.source,
cell:c=>ni(c.source,c.sources||c.source)}]:[]]}show(){!this.rows||!this.flame||(this.table.set(this.rows.rows,this.columns(this.rows)),this.graph.set(this.flame,
0),this.legend(),this.zoom(),this.light())}zoom(){let t=this.flame,e=this.graph.walk;if(!t||!e)return;let n=R(this.context.store.params,"node",-1),s=n>=0&&n<t.parent.
length?n:Qs(t,e);this.graph.zoom(s);let{store:i}=this.context,r=Oe(t,s),l=(m,c)=>o("a",{href:C({...i.params,node:String(m)})},c),h=m=>t.names[t.name[m]],d=this.
rows,u=m=>g(m/Math.max(d.steps,1)),p=d.rows.find(m=>m.class==="wait")?.total_ns??d.wait_ns;if(r.length===0)return y(this.crumbs,`${u(t.total[0])} of GPU time pe\
r step and rank, ${p>0?u(p)+" of it waiting for other ranks, ":""}over ${S(String(this.rows.steps))} steps of all ranks together`);y(this.crumbs,l(0,"all"),...r.
flatMap((m,c)=>r.length>6&&c>=2&&c<r.length-3?c===2?[" › ",o("span",{title:r.slice(2,-3).map(h).join(" › ")},"…")]:[]:[" › ",m===s?o("b",null,h(m)):l(m,
h(m))]))}light(){let{sel:t,q:e=""}=this.context.store.params,n=e.toLowerCase().split(/\s+/).filter(i=>i!=="");this.graph.light(i=>t!==void 0?i===t:n.length>0&&n.
every(r=>i.toLowerCase().includes(r)));let s=this.table.shown().length;y(this.found,this.rows&&e!==""&&`${s} of ${this.rows.rows.length}`)}legend(){let t=this.flame,
e=t.other.length>0,n=[...new Set(t.class.filter(s=>s!==""))];y(this.el.querySelector(".under-flame"),...e?[z("--under","shorter here"),z("--cold","the same"),z(
"--high","longer here, or new")]:n.map(s=>z("--"+s.toLowerCase(),s)),t.left_out>0&&o("span",null,`${S(String(t.left_out))} parts are too small to see`))}csv(){if(!this.
rows)return;let t=this.columns(this.rows),e=this.context.capture?.title??"capture",n=i=>["total","wait","wait2","floor","self","other","diff","median","median2",
"p99","max"].includes(i.id)?" (ns)":"",s=[Hn([...t.map((i,r)=>(i.title==="other"&&r>0?t[r-1].title+", other":i.title)+n(i)),"class"]),...this.table.shown().map(
i=>Hn([...t.map(r=>r.id==="diff"?i.total_ns/Math.max(this.rows.steps,1)-i.other_total_ns/Math.max(this.rows.other_steps,1):this.value(r,i)),i.class]))];Xs(`${e.
replace(/[^\w.-]+/g,"_")}-${this.by()}.csv`,"text/csv",s.join(""))}value(t,e){if(!t.num)return t.text(e);let n=t.num(e),s=this.rows.other_steps>0?1:Math.max(this.
rows.steps,1);return Number.isFinite(n)?t.id==="share"?n/Math.max(this.rows.total_ns,1):["total","self","wait","floor","count"].includes(t.id)?n/s:n:t.text(e)}update(t,e){
let n=s=>s.some(i=>t[i]!==e[i]);if(n(fr))return this.head(),this.ask();document.activeElement!==this.search&&(this.search.value=t.q??""),n(["node"])&&this.zoom(),
n(["sel","q"])&&this.light(),n(["sel","q","sort","all"])&&this.table.draw()}restyle(){this.graph.draw()}close(){this.asking.abort(),this.graph.drop()}};function gr(a){
return o("i",{class:"swatch s-"+a.toLowerCase().replace(/[^a-z]/g,"-"),title:a})}var si=.005,ti="per step: the time in collectives until the last rank arrives, \
or while another rank was not recorded";function ei(a){return a.only_rank?"only "+a.only_rank:a.rank_spread<si?"":a.slowest_rank+(a.rank_spread<1?` ${_(a.rank_spread)}\
 longer`:` ${et(1+a.rank_spread)} times as long`)}function ni(a,t){return o("span",{class:"cut",title:t},a)}function br(a,t,e){let n=o("i",{class:"s-"+(a.class||
"share").toLowerCase().replace(/[^a-z]/g,"-")});return n.style.width=Math.max(t*100,.5)+"%",o("span",{class:"part"},o("span",{class:"bar","aria-hidden":"true"},
n),o("span",null,_(e)))}function vr(a,t){let e=o("i",{class:a>0?"more-time":"less-time"});return e.style.width=Math.min(Math.abs(a)/t,1)*50+"%",o("span",{class:"\
part"},o("span",{class:"bar two","aria-hidden":"true"},e),o("span",null,O(a)))}var ii={id:"kernels",title:"Kernels",needs:"capture",open:a=>new qn(a)};var wr={floor:"floor",start:"start",slow:"slow",other:"other kernels",idle:"idle"};function Vt(a,t,e){return a.map((n,s)=>({name:n,label:wr[n]??yt(n),ns:t[s]/Math.
max(e,1)}))}function Nn(a){return a.reduce((t,e)=>t+e.ns,0)}function On(a,t){return`${a.label} ${g(a.ns)} (${_(a.ns/(t||1))})`}function Z(a,t,...e){let n=document.
createElement(a);return n.append(t),n.classList.add(...e),n}function ai(a,t,e){let n=document.createElement("table"),s=n.createTHead().insertRow(),i=n.createTBody();
n.className="shares",n.createCaption().textContent=a,t.forEach((r,l)=>{let h=Z("th",r,...l>1?["r"]:[]);h.setAttribute("scope","col"),s.append(h)});for(let[r,l,...h]of e){
let d=Z("th",r),u=i.insertRow();d.setAttribute("scope","row"),u.append(d,Z("td",l),...h.map(p=>Z("td",p.replace(/(?<=≥) | (?=[nµm]?s\b|%)/g," "),"r")))}return n}
function xr({kind:a,why:t,bars:e}){let n=e.reduce((r,l)=>r+l.steps,0),s=e.reduce((r,l)=>r+l.told,0),i=n===0?`The kernels of ${a} steps cannot be assigned to mod\
ules`:`The kernels of ${n-s} of ${n} ${a} steps cannot be assigned to modules and count as other kernels`;return Z("p",`${i}: ${t}.`,"caveat")}var ri=16;function oi(a,t,e=""){
let n=t.bars.filter(m=>e===""||m.rank===e).map(m=>({rank:m.rank,steps:m.steps,parts:Vt(a.parts,m.parts,m.steps)})),s=t.why===""?[]:[xr(t)];if(n.length===0)return s;
let i=Math.max(...n.map(m=>Nn(m.parts)),1),r=n.reduce((m,c)=>m+c.steps,0),l=Vt(a.parts,a.parts.map((m,c)=>n.reduce((f,b)=>f+b.parts[c].ns*b.steps,0)),r),h=a.parts.
indexOf("wait"),d=n.map(m=>m.parts[h].ns).sort((m,c)=>m-c)[ri-1]??1/0,u=n.filter(m=>m.parts[h].ns<=d).slice(0,ri);s.push(ai(`Device time of a ${t.kind} step`,["\
rank",t.kind+" step","time","floor"],u.map(({rank:m,parts:c})=>{let f=Nn(c);return[m,ct(c,f/i,b=>On(b,f)),g(Math.round(f)),_(c[0].ns/(f||1))]})));let p=Z("p",n.
length>1?"Mean: ":"","keys");return p.append(...l.filter(m=>m.ns>0).map(m=>z("--"+m.name,On(m,Nn(l))))),s.push(p),u.length<n.length&&s.push(Z("p",`The ${u.length}\
 of ${n.length} ranks that wait least for others; the mean is that of all.`,"keys")),s}function li(a,{rank:t,steps:e,modules:n},s=i=>i.module){let i=Math.max(...n.
map(d=>d.time_ns),1),r=n.map(d=>{let u=Math.min(d.floor_ns,d.time_ns),p=Math.min(Math.max(d.attainable_ns,u),d.time_ns),m=d.why!==""?Vt(["other"],[d.time_ns],e):
Vt(["floor","start","slow"],[u,p-u,d.time_ns-p],e),c=ct(m,d.time_ns/i,f=>On(f,d.time_ns/e));return[s(d),c,g(Math.round(d.time_ns/e)),d.why===""?d.floor:"not kno\
wn",d.of_attainable>0?_(d.of_attainable):"–"]}),l=Z("p","","keys");l.append(...Vt(["floor","start","slow"],[0,0,0],1).map(d=>z("--"+d.name,d.label)));let h=n.
filter(d=>d.why!=="").map(d=>`${d.module}: ${d.why}.`);return h.length>0&&l.append(z("--other","floor not known")),n.some(d=>d.floor.startsWith("≥"))&&h.push(
"≥: a lower bound, so the slow part may be smaller than drawn."),[ai(`Modules of a ${a} step on ${t}`,["module",a+" step","time","floor","of attainable"],r),l,
...h.map(d=>Z("p",d,"keys"))]}var yr=8,zn=class{constructor(t){this.context=t;M("light",{c:t.store.params.c}).then(e=>{this.light=e,this.show()})}context;el=o("div",{class:"light"});light=null;show(){
let{store:t,capture:e}=this.context,n=this.light;if(n===null)return;if(n.none)return y(this.el,o("p",{class:"caveat"},n.says));let{params:s}=t,i=e.kinds.flatMap(
p=>n.kinds.filter(m=>m.kind===p)),r=i.find(p=>p.kind===s.kind)??i[0],l=e.ranks[Number(s.rank??NaN)]??"",h=r.ranks.find(p=>p.rank===(l||r.rank)),d=o("select",{"a\
ria-label":"Steps of kind",on:{change:()=>t.set({kind:d.value===i[0].kind?null:d.value})}},...i.map(p=>o("option",{value:p.kind},p.kind)));d.value=r.kind;let u=o(
"select",{"aria-label":"Rank",on:{change:()=>t.set({rank:u.value})}},o("option",{value:""},"all ranks"),...e.ranks.map((p,m)=>o("option",{value:String(m)},p)));
u.value=l===""?"":s.rank,y(this.el,o("p",{class:"lead"},n.says),o("div",{class:"tools"},i.length>1&&d,e.ranks.length>1&&u),o("figure",null,o("figcaption",null,`\
Device time of a mean ${r.kind} step, from the floor to the whole`),...oi(n,r,l)),h!==void 0&&o("figure",null,o("figcaption",null,`Modules on ${h.rank}`),...li(
r.kind,h,p=>this.name(h,p))),o("p",{class:"soft"},"Floor: the least time at the peaks of the device. Start: what good kernels need beyond it. Slow: what kernels\
 take beyond that. A module leads to its longest kernel in the timeline."))}name({index:t},e){let n=r=>C(A(this.context.store.params,{tab:"timeline",...r})),s=(e.
end_ns-e.start_ns)*yr,i={rank:String(t),t0:String(e.start_ns-s),t1:String(e.end_ns+s)};return o("span",{class:"named"},e.end_ns>e.start_ns?o("a",{href:n(e.span<
0?i:{...i,sel:String(e.span)}),title:e.full},e.module):o("span",{title:e.full},e.module),o("a",{class:"find",href:n({q:e.full}),title:"Find its kernel in the ti\
meline: "+e.kernel},"find"))}update(t,e){(t.kind!==e.kind||t.rank!==e.rank)&&this.show()}},Fe={id:"light",title:"Speed of light",needs:"light",open:a=>new zn(a)};var kr={host:["Hosts","time of host threads before and after launches"],device:["Kernels","time of all kernels and copies, without waiting"],work:["Work","kerne\
ls and copies as those of the other ranks: only like peers"],collective:["Transfers","time of collectives once all ranks have arrived"],gap:["Gaps","unexplained\
 time on the device"],"class:gemm":["GEMM","time of matrix products"],"class:comm":["communication","time of kernels that communicate"]},Mr=2,Sr=.05,In=class{constructor(t){
this.context=t;t.keys.bind("0","What if","reset",()=>t.store.set({set:null})),y(this.el,this.panel,this.outcome),this.ask()}context;el=o("div",{class:"whatif"});panel=o(
"section",{class:"panel","aria-label":"Changes"});outcome=o("section",{class:"outcome","aria-label":"Predicted step times","aria-live":"polite"});plots=[];answer=null;asking=new AbortController;later=0;settings(){
return it(this.context.store.params.set)}rank(){let{rank:t}=this.context.store.params;return t===void 0?"":this.context.capture?.ranks[Number(t)]??""}ask(){this.
asking.abort(),this.asking=new AbortController;let{signal:t}=this.asking;M("whatif",{c:this.context.store.params.c,set:Ot(this.settings())},t).then(e=>{let n=this.
answer===null;this.answer=e,n&&this.controls(),this.show()}).catch(e=>{if(!t.aborted)throw e})}set(t,e){clearTimeout(this.later),this.later=window.setTimeout(()=>{
let n=this.context.session.exported?new Map:this.settings();this.context.store.set({set:X(zt(n,t,e))})},this.context.session.exported?0:60)}controls(){let t=this.
answer,{capture:e,session:n,store:s}=this.context,i=e?.ranks??[],r=o("select",{"aria-label":"Of rank",on:{change:()=>s.set({rank:r.value})}},o("option",{value:""},
"of all ranks"),...i.map((d,u)=>o("option",{value:String(u),disabled:!this.answered(d+".")},"of "+d)));r.value=s.params.rank??"";let l=t.parts.filter(d=>d.id.startsWith(
"class:")).sort((d,u)=>u.share-d.share),h=(e?.fixes??[]).filter(d=>ae(d,n));y(this.panel,o("h2",null,"Changes"),h.length>0&&o("h3",null,"What findings suggest"),
...h.map(d=>o("button",{class:"fix",data:{fix:Y(d)},"aria-pressed":"false",title:d.finding,on:{click:()=>this.fix(d)}},o("b",null,re(d))," ",d.finding)),i.length>
1&&o("p",null,r),...t.parts.filter(d=>!d.id.startsWith("class:")).map(d=>this.slider(d)),o("h3",null,"Kernels by class"),...l.map(d=>this.slider(d)),o("p",{class:"\
actions"},o("button",{class:"button",on:{click:()=>s.set({set:null})}},"Reset")),n.exported&&o("p",{class:"note"},"This page answers one change at a time, in st\
eps of a quarter; stepscope view answers all.")),this.place()}fix(t){let{store:e,capture:n}=this.context,s=Y(t),i=e.params.set!==s;e.set({set:i?s:null,rank:i?oe(
t,n?.ranks??[]):null})}answered(t){return this.context.session.exported?.whatif.some(e=>e.startsWith(t))??!0}slider(t){let[e,n]=kr[t.id]??[t.id.slice(6).replaceAll(
"_"," "),"time of kernels of this class"],s=this.context.session.exported?.25:Sr,i=o("input",{type:"range",min:"0",max:String(this.context.session.exported?1:Mr),
step:String(s),id:"set-"+t.id,data:{part:t.id},disabled:!this.answered(U(this.rank(),t.id)+"=")});i.addEventListener("input",()=>{this.say(t.id,i.value),this.set(
U(this.rank(),t.id),i.value)});let r=t.peers&&o("button",{class:"peers choice-one",data:{peers:t.id},title:"like the median of the other ranks",on:{click:()=>this.
set(U(this.rank(),t.id),this.settings().get(U(this.rank(),t.id))==="peers"?"1":"peers")}},"like peers");return o("div",{class:"slider"},o("label",{for:"set-"+t.
id,title:n},e),o("span",{class:"path",title:"of the critical path"},t.share>=5e-4?_(t.share):""),o("output",{for:"set-"+t.id,data:{said:t.id}}),t.id==="work"?o(
"span",{class:"none"}):i,r)}say(t,e){let n=this.panel.querySelector(`[data-said="${CSS.escape(t)}"]`);n&&y(n,rt(e))}place(){let t=this.settings(),e=this.rank(),
n=X(t);for(let s of this.panel.querySelectorAll("[data-fix]"))s.ariaPressed=String(s.dataset.fix===n);for(let s of this.panel.querySelectorAll("[data-part]")){let i=s.
dataset.part,r=t.get(U(e,i))??"1";(document.activeElement!==s||r==="1")&&(s.value=r==="peers"?"1":r),this.say(i,r);let l=this.panel.querySelector(`[data-peers="${CSS.
escape(i)}"]`);l&&(l.disabled=e===""||!this.answered(U(e,i)+"=peers"),l.ariaPressed=String(r==="peers"))}}show(){let t=this.answer,{store:e,capture:n}=this.context;
for(let h of this.plots.splice(0))h.drop();let s=[...this.settings()],i=s.map(([h,d])=>o("button",{class:"chip",title:"reset",on:{click:()=>e.set({set:X(zt(this.
settings(),h,"1"))})}},h," ",o("b",null,rt(d))," ×"));if(!t.known){y(this.outcome,o("h2",null,"Predicted step times"),o("p",{class:"caveat"},o("strong",null,"U\
nknown: "),t.why+"."),o("p",{class:"note"},"There is no prediction if the recorded steps cannot be replayed."));return}let r=t.lengths.length>1,l=h=>r?", "+h.map(
d=>n?.ranks[d]??"#"+d).join(" "):"";y(this.outcome,o("h2",null,s.length===0?"Steps as recorded: move a slider":"Predicted step times if ",...i),s.length>0&&o("p",
null,o("a",{href:C(A(e.params,{tab:"timeline",set:e.params.set}))},"Show in the timeline where each step would end")),o("div",{class:"cards"},...t.rows.map(h=>_r(
h,l(h.ranks)))),...t.lengths.flatMap(h=>h.steps.length===0?[]:[o("figure",null,o("figcaption",null,o("span",null,"Length of each step"+l(h.ranks))),o("canvas",{
tabindex:"0",role:"img","aria-label":"Lengths of steps, as recorded and as predicted"}),o("p",{class:"keys"},z("--idle","as recorded"),z("--share","as predicted")))]),
o("p",{class:"note"},`The steps are replayed from the recorded durations and dependencies. Without changes, the replay differs from the recording by ${Qt(t.off_median)}\
 (90th percentile ${Qt(t.off_p90)}). Unexplained gaps are ${Qt(t.unexplained)} of the critical path; they stay, as do batches, schedules and device clocks.`),t.
command!==""&&o("p",{class:"note"},"On the command line: ",o("code",{class:"command"},t.command)));for(let[h,d]of this.outcome.querySelectorAll("canvas").entries()){
let u=new Fn(d,t.lengths.filter(p=>p.steps.length>0)[h]);this.plots.push(u),u.draw()}}update(t,e){this.answer&&(t.rank!==e.rank?this.controls():this.place(),t.set!==
e.set&&this.ask())}restyle(){for(let t of this.plots)t.draw()}close(){clearTimeout(this.later),this.asking.abort();for(let t of this.plots.splice(0))t.drop();P()}};
function _r(a,t){let e=a.without_ns/Math.max(a.step_ns,1)-1,n=Math.abs(e)<5e-4;return o("div",{class:"card"},o("span",{class:"name"},`${a.kind} step${t}`),o("b",
null,g(a.step_ns),!n&&" → ",!n&&g(a.without_ns)),o("span",{class:n?"soft":e<0?"better":"worse"},n?"unchanged":(e>0?"+":"")+_(e)),!n&&o("span",{class:"soft"},`${g(
a.without_low_ns)} to ${g(a.without_high_ns)} (95 %, ${a.steps} steps)`),a.tokens_per_s>0&&o("span",{class:"soft"},`${hi(a.tokens_per_s)}${n?"":" → "+hi(a.without_tokens_per_s)}\
 output tokens/s`))}function hi(a){return S(String(Math.round(a)))}var Fn=class extends G{constructor(e,n){super(e,260);this.lengths=n;let s=i=>{let r=this.area(),
l=Math.floor((i.offsetX-r.x)/r.w*n.steps.length);this.point(l>=0&&l<n.steps.length?l:-1,i.offsetX,i.offsetY)};e.addEventListener("pointermove",s),e.addEventListener(
"pointerleave",()=>this.point(-1)),e.addEventListener("blur",()=>this.point(-1)),e.addEventListener("keydown",i=>{let r=i.key==="ArrowRight"?1:i.key==="ArrowLef\
t"?-1:0;r!==0&&(this.point(Math.min(Math.max(this.at+r,0),n.steps.length-1)),i.preventDefault())})}lengths;at=-1;point(e,n,s){if(this.at=e,this.again(),e<0)return P();
let i=this.lengths,r=this.area(),l=i.would[e]/i.was[e]-1;N(this.canvas,n??r.x+(e+.5)/i.steps.length*r.w,s??20,{title:"step "+i.steps[e],rows:[["was",g(i.was[e])],
["would be",g(i.would[e])],["change",(l>0?"+":"")+_(l)]]})}paint(e){let{ctx:n,area:s,color:i}=e,r=this.lengths,l=r.steps.length,h=1;for(let f=0;f<l;f++)h=Math.max(
h,r.was[f],r.would[f]);h*=1.05,this.yAxis(e,h,g);let d=s.w/l,u=d>=5?1:0,p=(f,b,x)=>{n.fillStyle=i(x);for(let v=0;v<l;v++){let w=f[v]/h*s.h;n.fillRect(s.x+v*d+b,
s.y+s.h-w,Math.max(d-u-2*b,.6),w)}};p(r.was,0,"idle"),p(r.would,d>=12?d*.18:0,"share"),n.fillStyle=i("soft"),n.textAlign="center",n.textBaseline="top";let m=K(l,
Math.max(s.w/70,2)),c=Math.max(Math.round(m.length>1?m[1]:1),1);for(let f=0;f<l;f++)r.steps[f]%c===0&&n.fillText(String(r.steps[f]),s.x+(f+.5)*d,s.y+s.h+6)}mark({
ctx:e,area:n,color:s}){if(this.at<0)return;let i=n.w/this.lengths.steps.length;e.strokeStyle=s("mark"),e.strokeRect(n.x+this.at*i+.5,n.y+.5,Math.max(i-1,1),n.h-
1)}},di={id:"whatif",title:"What if",needs:"capture",open:a=>new In(a)};var lt=class extends st{constructor(e,n,s,i,r=!0){super(e,n,{kinds:[],grid:{cols:s.running.length}},i,64,r?28:6);this.bench=s;this.axis=r}bench;axis;fine=null;at(e,n){
return this.x(e/this.bench.bin_ns,n)}sight(){return{from:this.view.lo*this.bench.bin_ns,to:this.view.hi*this.bench.bin_ns}}whenClicked(e){let n=NaN;this.canvas.
addEventListener("pointerdown",s=>n=s.offsetX),this.canvas.addEventListener("click",s=>{Math.abs(s.offsetX-n)<=8&&e(s.offsetX,s.offsetY)})}when(e,n){return this.
bench.at[e]+(this.bench.at_once?Math.max(n[e],0):0)}shade({ctx:e,area:n,color:s}){for(let[i,r,l]of[[this.bench.steady,"info",.1],[this.bench.profiled,"k3",.15]]){
e.fillStyle=s(r),e.globalAlpha=l;for(let h of i){let d=Math.max(this.at(h.from,n),n.x),u=Math.min(this.at(h.to,n),n.x+n.w);u>d&&e.fillRect(d,n.y,u-d,n.h)}e.globalAlpha=
1}}xAxis({ctx:e,area:n,color:s}){if(!this.axis)return;let i=this.bench.bin_ns,r=this.view.lo*i,l=this.view.hi*i,h=K(l-r,Math.max(n.w/110,2)),d=h.length>1?h[1]:l-
r||1;e.fillStyle=s("soft"),e.textBaseline="top",e.textAlign="center";for(let u=Math.ceil(r/d)*d;u<=l;u+=d)e.fillText(ns(Math.round(u),d),Math.min(this.at(u,n),n.
x+n.w-14),n.y+n.h+5)}inside({ctx:e,area:n},s){e.save(),e.beginPath(),e.rect(n.x,n.y,n.w,n.h),e.clip(),s(),e.restore()}bins(){return this.fine??this.bench}stairs({
ctx:e,area:n,color:s},i,r,l,h){let d=this.bins(),u=m=>n.y+n.h*(1-m/r),p=m=>this.at(d.from_ns+m*d.bin_ns,n);e.beginPath(),i.forEach((m,c)=>{e.lineTo(p(c),u(m)),e.
lineTo(p(c+1),u(m))}),e.strokeStyle=e.fillStyle=s(l),e.lineWidth=1.5,e.stroke(),h&&(e.lineTo(p(i.length),n.y+n.h),e.lineTo(p(0),n.y+n.h),e.globalAlpha=.18,e.fill(),
e.globalAlpha=1)}top(e){let n=this.bins(),s=r=>(r*this.bench.bin_ns-n.from_ns)/n.bin_ns,i=0;for(let r=Math.max(Math.floor(s(this.view.lo)),0);r<Math.min(Math.ceil(
s(this.view.hi)),e.length);r++)i=Math.max(i,e[r]);return i*1.06||1}tip(e){let n=this.bench;if(e<0||e>=n.running.length)return null;let s=[],i=l=>l>=e*n.bin_ns&&
l<(e+1)*n.bin_ns,r=pi(n.at,i);r.length&&s.push(["requests sent",String(r.length)]);for(let[l,h]of[["TTFT",n.ttft],["E2E",n.e2e]]){let d=h.reduce((u,p,m)=>p>u&&i(
this.when(m,h))?p:u,-1);d>=0&&s.push(["longest "+l,g(d)])}return n.embedding||s.push([gt(n)?"output tokens in the busiest second":"output tokens in the last sec\
ond",Bn(n.busiest[e])]),!n.embedding&&gt(n)&&s.push(["output tokens/s, mean",Bn(n.tokens[e]/(n.bin_ns/1e9))]),s.push(["under way at most",S(String(n.most[e]))],
["under way, mean",n.running[e].toFixed(1)]),n.embedding||s.push(["in decode, mean",n.decode[e].toFixed(1)]),s.push(["ended",String(n.ended[e])]),n.failed[e]&&s.
push(["failed",String(n.failed[e])]),{title:`${e?g(e*n.bin_ns):"0"} – ${g((e+1)*n.bin_ns)}`,rows:s}}};function pi(a,t){let e=[];return a.forEach((n,s)=>t(n,s)&&
e.push(s)),e}function Bn(a){return a===0?"0":a>=99.95?S(String(Math.round(a))):a.toFixed(1)}function Tr(a,t){let e=[];for(let n=Math.pow(10,Math.floor(Math.log10(
a)));n<=t;n*=10)for(let s of[1,2,5])s*n>=a&&s*n<=t&&e.push(s*n);return e.length>7?e.filter(n=>Math.abs(Math.log10(n)%1)<1e-6||Math.abs(Math.log10(n)%1-1)<1e-6):
e}var Be=[["ttft","k1",1],["e2e","k0",2]],De=class extends lt{log=!0;chosen=-1;range(){let t=1/0,e=0;for(let[n]of Be)for(let s of this.shown(n))this.bench[n][s]>
0&&(t=Math.min(t,this.bench[n][s]),e=Math.max(e,this.bench[n][s]));return e===0&&(t=1e6,e=1e9),e*=1.1,t*=.9,this.log&&e/t<10&&(t=e/10),[t,e]}y(t,[e,n],s){return s.
y+s.h*(this.log?1-Math.log(t/e)/Math.log(n/e):1-t/n)}shown(t){let e=this.bench[t],{from:n,to:s}=this.sight();return pi(e,(i,r)=>this.when(r,e)>=n&&this.when(r,e)<=
s)}near(t,e){let n=this.area(),s=this.range(),i=-1,r=64;for(let[l]of Be){let h=this.bench[l];for(let d of this.shown(l)){let u=h[d]>0?this.y(h[d],s,n):l==="e2e"&&
this.failed(d)?n.y+n.h-5:NaN,p=(this.at(this.when(d,h),n)-t)**2+(u-e)**2;p<=r&&(r=p,i=d)}}return i}failed(t){return this.bench.ttft[t]<0&&this.bench.e2e[t]<0}paint(t){
let{ctx:e,area:n,color:s}=t,i=this.bench,r=this.range(),[l,h]=r;if(this.shade(t),this.log){e.textAlign="right",e.textBaseline="middle";for(let d of Tr(l,h))e.fillStyle=
s("line"),e.fillRect(n.x,Math.round(this.y(d,r,n)),n.w,1),e.fillStyle=s("soft"),e.fillText(g(d),n.x-6,this.y(d,r,n))}else this.yAxis(t,h,g);this.inside(t,()=>{for(let[
d,u,p]of Be){let m=i.limits[d];m&&(!this.log||m>l)&&ui(t,this.y(m,r,n),u),e.globalAlpha=.75;for(let c of this.shown(d))i[d][c]>0&&(e.fillStyle=s(i.touched[c]&p?
"k4":u),e.beginPath(),e.arc(this.at(this.when(c,i[d]),n),this.y(i[d][c],r,n),2,0,7),e.fill());e.globalAlpha=1}e.fillStyle=s("high");for(let d of this.shown("e2e"))
this.failed(d)&&e.fillRect(this.at(i.at[d],n)-1,n.y+n.h-10,2,10)}),this.xAxis(t)}mark(t){super.mark(t);let{ctx:e,area:n,color:s}=t,i=this.chosen,r=this.bench,l=this.
range();i<0||this.inside(t,()=>{e.strokeStyle=s("mark"),e.lineWidth=2;for(let[h]of Be)r[h][i]>0&&(e.beginPath(),e.arc(this.at(this.when(i,r[h]),n),this.y(r[h][i],
l,n),5,0,7),e.stroke())})}};function ui({ctx:a,area:t,color:e},n,s){a.strokeStyle=e(s),a.lineWidth=1.5,a.setLineDash([6,4]),a.beginPath(),a.moveTo(t.x,n),a.lineTo(
t.x+t.w,n),a.stroke(),a.setLineDash([])}function gt(a){return a.bin_ns>=1e9}var je=class extends lt{paint(t){let e=this.bins(),n=this.fine!==null,s=this.top(n?e.
tokens:e.busiest);this.shade(t),this.yAxis(t,s,Bn),this.inside(t,()=>{if(n)return this.stairs(t,e.tokens,s,"compute",!0);this.stairs(t,e.busiest,s,"compute",!gt(
e)),gt(e)&&this.stairs(t,e.tokens.map(i=>i/(e.bin_ns/1e9)),s,"k1",!0)}),this.xAxis(t)}title(){let t=g(this.bins().bin_ns);return this.fine?`Output tokens in eac\
h ${t}`:gt(this.bench)?`Output tokens in the seconds of each ${t}`:"Output tokens in the last second"}},Ue=class extends lt{queue=[];paint(t){let{ctx:e,area:n,color:s}=t,
i=this.bench,r=this.bins(),{from:l,to:h}=this.sight(),d=this.queue.filter(p=>p.at>=l&&p.at<=h),u=Math.max(this.top(r.most),...d.map(p=>p.queued*1.06));this.shade(
t),this.yAxis(t,u,p=>S(String(p))),this.inside(t,()=>{this.stairs(t,r.most,u,"host",!0),i.embedding||this.stairs(t,r.decode,u,"k0",!1),this.queue.length>0&&this.
queued(t,u),e.fillStyle=s("high"),r.failed.forEach((p,m)=>{let c=this.at(r.from_ns+m*r.bin_ns,n);p&&e.fillRect(c,n.y+n.h-10,Math.max(this.at(r.from_ns+(m+1)*r.bin_ns,
n)-c,2),10)})}),this.xAxis(t)}queued({ctx:t,area:e,color:n},s){t.beginPath();for(let i of this.queue)t.lineTo(this.at(i.at,e),e.y+e.h*(1-i.queued/s));t.strokeStyle=
n("k3"),t.lineWidth=1.5,t.stroke()}},We=class extends G{constructor(e,n,s){super(e,n,{left:64,bottom:26});this.spread=s;this.nines=Math.max(Math.log10(s.n),.31),
this.canvas.addEventListener("pointermove",i=>{let r=this.area(),l=1-Math.pow(10,-(i.offsetX-r.x)/r.w*this.nines),h=0;s.shares.forEach((d,u)=>d<=l&&(h=u)),this.
point(h,i.offsetX,i.offsetY)}),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.
addEventListener("keydown",i=>{let r=s.shares.length-1,l=i.shiftKey?10:1;if(i.key==="ArrowRight")this.point(Math.min(this.i+l,r));else if(i.key==="ArrowLeft")this.
point(Math.max(this.i-l,0));else if(i.key==="Home")this.point(0);else if(i.key==="End")this.point(r);else if(i.key==="Escape")this.point(-1);else return;i.preventDefault()})}spread;other=null;i=-1;nines;x(e,n){
return n.x+n.w*Math.min(-Math.log10(Math.max(1-e,1e-12))/this.nines,1)}point(e,n,s){if(this.i=e,this.again(),e<0)return P();let i=this.spread,r=i.shares[e],l=this.
other,h=[["percentile",r===1?"longest":"p"+Number((r*100).toPrecision(6))],["value",g(i.values[e])]];l&&h.push(["before",g(Lr(l,r))]),N(this.canvas,n??this.x(i.
shares[e],this.area()),s??20,{title:i.title,rows:h})}paint(e){let{ctx:n,area:s,color:i}=e,r=this.spread,l=this.top(),h=u=>s.y+s.h*(1-u/l);this.yAxis(e,l,g),n.textBaseline=
"top";let d=-1/0;for(let[u,p]of[[0,"min"],[.5,"p50"],[.9,"p90"],[.99,"p99"],[.999,"p99.9"],[.9999,"p99.99"],[.99999,"p99.999"]]){if(-Math.log10(1-u)>this.nines)
break;let m=this.x(u,s),c=n.measureText(p).width,f=Math.min(m-c/2,s.x+s.w+8-c);n.fillStyle=i("line"),n.fillRect(Math.round(m),s.y,1,s.h),!(f<d+4)&&(n.fillStyle=
i("soft"),n.textAlign="left",n.fillText(p,f,s.y+s.h+6),d=f+c)}r.limit>0&&r.limit<l&&ui(e,h(r.limit),"high");for(let[u,p]of[[this.other,"k4"],[r,"k0"]])u&&(n.beginPath(),
u.values.forEach((m,c)=>n.lineTo(this.x(u.shares[c],s),h(m))),n.strokeStyle=i(p),n.lineWidth=2,n.stroke())}mark({ctx:e,area:n,color:s}){if(this.i<0)return;let i=this.
spread,r=this.top();e.fillStyle=s("mark"),e.beginPath(),e.arc(this.x(i.shares[this.i],n),n.y+n.h*(1-i.values[this.i]/r),3.5,0,7),e.fill()}top(){return Math.max(
this.spread.values.at(-1)??0,this.other?.values.at(-1)??0)*1.06||1}};function Lr(a,t){let e=a.shares.findIndex(n=>n>=t);return a.values[e<0?a.values.length-1:e]}function Dn(a){return o("div",null,o("div",{class:"scroll",role:"region",tabindex:"0","aria-label":a.title+", table"},o("table",null,o("thead",null,o("tr",null,
...a.cols.map(t=>t.name===""?o("td"):o("th",{scope:"col",class:t.right?"r":void 0,title:t.help},t.name)))),o("tbody",null,...a.rows.map(t=>o("tr",null,...t.cells.
map(Er)))))),a.omitted&&o("p",{class:"soft"},a.omitted))}function Er(a){return o("td",{class:a.right?"r":a.wrap?"w":a.short?"n":void 0},a.code?o("code",{title:a.
full},a.text):a.text)}function ci(a,t){let e=0,n=a.length;for(;e<n;){let s=e+n>>1;a[s]<t?e=s+1:n=s}return e}function Pt(a){let t=a.dp_rank>=0?"DP"+String(a.dp_rank).padStart(2,"0"):"";
return[a.server,t].filter(e=>e!=="").join(" ")||"steps"}var At=18,Ge=class extends lt{constructor(e,n,s,i){super(e,i.lanes.length*At+12,n,s,!1);this.steps=i;this.
whenClicked((r,l)=>{let h=this.stepAt(r,l);h&&this.whenChosen(h)})}steps;lit=null;whenChosen=()=>{};light(e){this.lit=e&&this.steps.lanes.map((n,s)=>new Set(e.filter(
i=>i.lane===s).map(i=>i.step))),this.draw()}rows(){return this.steps.lanes.length}rowAt(e){return Math.min(Math.max(Math.floor((e-this.area().y)/At),0),this.rows()-
1)}stepAt(e,n){let s=this.area(),i=this.rowAt(n),r=this.steps.lanes[i];if(!r||n<s.y||n>s.y+s.h)return null;let l=this.colAt(e)*this.bench.bin_ns,h=1.5*((this.view.
hi-this.view.lo)*this.bench.bin_ns)/s.w,d=ci(r.to,l-h);return d<r.to.length&&r.from[d]<=l+h?{lane:i,step:d}:null}paint(e){let{ctx:n,area:s,color:i}=e,r=this.steps.
kinds.map(d=>i(xt(d)));this.shade(e);let{from:l,to:h}=this.sight();n.textAlign="right",n.textBaseline="middle",this.steps.lanes.forEach((d,u)=>{let p=s.y+u*At;n.
fillStyle=i("soft"),n.fillText(Rr(n,Pt(d),s.x-8),s.x-6,p+At/2),n.fillStyle=i("line"),n.fillRect(s.x,p+At-1,s.w,1),this.inside(e,()=>{let m=-1/0;for(let c=ci(d.to,
l);c<d.from.length&&d.from[c]<=h;c++){let f=this.lit===null||this.lit[u].has(c),b=this.at(d.from[c],s),x=Math.max(this.at(d.to[c],s),b+.5);x<m+.5&&!f||(n.globalAlpha=
f?1:.2,n.fillStyle=r[d.kind[c]],n.fillRect(b,p+3,x-b-(x-b>3?1:0),At-6),m=Math.max(m,x))}n.globalAlpha=1})}),this.xAxis(e)}point(e,n,s,i){super.point(e,n,s,i),this.
canvas.style.cursor=s!==void 0&&i!==void 0&&this.stepAt(s,i)?"pointer":""}tipAt(e,n){let s=this.stepAt(e,n);if(!s)return null;let i=this.steps.lanes[s.lane];return{
title:this.steps.names[i.name[s.step]],rows:[...this.rows()>1?[["of",Pt(i)]]:[],["step",`${s.step}, ${this.steps.kinds[i.kind[s.step]]}`],["took",g(i.to[s.step]-
i.from[s.step])],["from",g(i.from[s.step])],["requests of this load",S(String(i.batch[s.step]))]]}}};function Rr(a,t,e){if(a.measureText(t).width<=e)return t;for(;t.
length>1&&a.measureText("…"+t).width>e;)t=t.slice(1);return"…"+t}function Ar(a){return Math.min(Math.max(a*9,40),360)}var Ve=class extends lt{constructor(e,n,s,i){
super(e,Ar(i.rows)+34,n,s);this.requests=i;this.whenClicked((r,l)=>{let h=this.barAt(r,l);h>=0&&this.whenChosen(this.requests.index[h])})}requests;marked=-1;others=new Set;whenChosen=()=>{};show(e){
this.requests=e,this.draw()}light(e,n){this.marked=e,this.others=new Set(n),this.draw()}y(e,n){let s=n.h/Math.max(this.requests.rows,1);return[n.y+e*s,Math.max(
s-(s>3?1:0),.7)]}barAt(e,n){let s=this.area(),i=this.colAt(e)*this.bench.bin_ns,r=this.requests,l=2*((this.view.hi-this.view.lo)*this.bench.bin_ns)/s.w,h=Math.floor(
(n-s.y)/s.h*r.rows),d=Math.max(Math.ceil(2*r.rows/s.h)-1,0),u=-1;for(let p=0;p<r.index.length;p++)Math.abs(r.row[p]-h)>d||r.sent[p]>i+l||r.done[p]<i-l||(u<0||Math.
abs(r.row[p]-h)<Math.abs(r.row[u]-h))&&(u=p);return u}paint(e){let{ctx:n,area:s,color:i}=e,r=this.requests;this.shade(e),n.fillStyle=i("soft"),n.textAlign="righ\
t",n.textBaseline="top",n.fillText(S(String(r.rows)),s.x-6,s.y),n.fillText("at once",s.x-6,s.y+13);let l={wait:i("k1"),decode:i("k0"),end:i("k4"),failed:i("high")};
this.inside(e,()=>{for(let h=0;h<r.index.length;h++){let[d,u]=this.y(r.row[h],s),p=r.index[h]===this.marked;n.globalAlpha=this.marked<0&&this.others.size===0||p||
this.others.has(r.index[h])?r.touched[h]&&!p?.75:1:.18;let m=(b,x,v,w=1)=>{let k=Math.max(this.at(b,s),s.x-1),T=Math.min(this.at(x,s),s.x+s.w+1);T<s.x||k>s.x+s.
w||x<=b||(n.fillStyle=v,n.fillRect(k,d+u*(1-w)/2,Math.max(T-k,.5),u*w))};if(r.failed[h]){m(r.sent[h],r.done[h],l.failed);continue}let c=r.first[h]<0?r.done[h]:r.
first[h],f=Math.max(r.last[h],c);m(r.sent[h],c,l.wait,.55),m(c,f,l.decode),m(f,r.done[h],l.end,.3)}n.globalAlpha=1}),this.xAxis(e)}mark(e){super.mark(e);let{ctx:n,
area:s,color:i}=e,r=this.requests.index.indexOf(this.marked);if(r<0)return;let[l,h]=this.y(this.requests.row[r],s);this.inside(e,()=>{n.strokeStyle=i("mark"),n.
lineWidth=1.5;let d=this.at(this.requests.sent[r],s),u=this.at(this.requests.done[r],s);n.strokeRect(d-1,l-1,Math.max(u-d+2,3),h+2)})}point(e,n,s,i){super.point(
e,n,s,i),this.canvas.style.cursor=s!==void 0&&i!==void 0&&this.barAt(s,i)>=0?"pointer":""}tipAt(e,n){let s=this.barAt(e,n),i=this.requests;if(s<0)return null;let r=[
["sent at",g(i.sent[s])]];return i.failed[s]?r.push(["failed after",g(i.done[s]-i.sent[s])]):(i.first[s]>=0&&r.push(["TTFT",g(i.first[s]-i.sent[s])]),r.push(["E\
2E",g(i.done[s]-i.sent[s])])),i.touched[s]&&r.push(["affected","by the captured window"]),{title:"request "+i.index[s],rows:r}}};function mi(a){return{queue:"idle",prefill:"k1",decode:"k0",wait:"wait",reply:"k2",unknown:"unknown"}[a]}function fi(a){return["queue","prefill","wait","decode",
"reply","unknown"].map(e=>({of:e,ns:a.filter(n=>n.of===e).reduce((n,s)=>n+s.ns,0)})).filter(e=>e.ns>0)}var gi={queue:"queue",prefill:"prefill",wait:"wait",decode:"\
decode",reply:"reply",unknown:"not recorded"};function Ke(a,t=!1){let e=a.reduce((i,r)=>i+r.ns,0)||1,n=o("div",{class:"parts","aria-hidden":"true"},...a.map(i=>{
let r=o("i",{title:`${i.name} ${g(i.ns)}`});return r.style.width=`${100*i.ns/e}%`,r.style.background=`var(--${mi(i.of)})`,r})),s=i=>{let r=o("i");return r.style.
background=`var(--${mi(i)})`,r};return t?o("div",null,n,o("p",{class:"keys"},...fi(a).map(i=>o("span",{class:"key"},s(i.of),gi[i.of]+" ",o("b",null,g(i.ns)))))):
o("div",null,n,o("p",{class:"keys sums"},...fi(a).map(i=>o("span",{class:"key"},s(i.of),gi[i.of]+" ",o("b",null,g(i.ns))))),o("table",{class:"split"},o("tbody",
null,...[...a].sort((i,r)=>r.ns-i.ns).map(i=>o("tr",null,o("th",{scope:"row"},s(i.of),i.name,i.more&&o("small",null,i.more)),o("td",null,g(i.ns)),o("td",null,_(
i.ns/e)))))))}function bi(a,t,e){let n=a.moments.find(i=>i.name==="sent")?.at??a.moments[0]?.at??0;return o("aside",{class:"panel","aria-label":"Request "+a.index},
o("header",null,o("h2",null,"Request ",String(a.index),a.turn>0&&`, turn ${a.turn+1}`),o("button",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:e.
close}},"×")),a.id!==""&&o("p",{class:"id"},o("code",null,a.id)),a.failure!==""&&o("p",{class:"caveat"},"failed: "+a.failure+(a.error?": "+a.error:"")),a.ttft&&
Pr("TTFT",a.ttft),a.why!==""&&o("p",{class:"soft"},a.why),Cr(a,t,e),a.gaps.length>0&&o("section",null,o("h3",null,"Longest waits for a token"),...a.gaps.slice(0,
4).map(i=>o("div",{class:"gap"},o("p",null,o("b",null,g(i.ns)),` until event ${i.event}`),Ke(i.parts,!0)))),a.with.length>0&&o("section",null,o("h3",null,"Reque\
sts in the same steps"),o("p",{class:"chips"},...a.with.map(i=>o("button",{class:"chip",title:i.id+`: ${i.steps} steps together`,on:{click:()=>e.request(i.index)}},
String(i.index),o("small",null,"×"+i.steps))))),o("section",null,o("h3",null,"Moments"),o("dl",null,...a.moments.flatMap(i=>[o("dt",null,i.name),o("dd",null,i.
name==="sent"?g(i.at)+" into the load":i.at===n?"0":(i.at<n?"−":"+")+g(Math.abs(i.at-n)))]))),o("section",null,o("h3",null,"Facts"),o("dl",null,...a.facts.flatMap(
([i,r])=>[o("dt",null,i),o("dd",null,r)]))))}function Pr(a,t){return o("section",null,o("h3",null,a+" ",o("b",null,g(t.ns)),t.place&&o("span",{class:"soft"}," o\
n "+t.place)),Ke(t.parts))}function Cr(a,t,e){if(!t||a.steps.length===0)return null;let n=[...new Set(a.steps.map(s=>s.lane))];return o("section",null,o("h3",null,
"Steps"),...n.map(s=>{let i=a.steps.filter(h=>h.lane===s).map(h=>h.step),r=t.lanes[s],l=e.timeline(s,r.from[i[0]],r.to[i[i.length-1]]);return o("p",null,`${Pt(r)}\
: ${i.length} of steps ${i[0]}–${i[i.length-1]} `,l&&o("a",{href:l},"show in the timeline"))}))}var $r=2e5,Hr=120,Xe=class{constructor(t,e,n,s,i){this.store=t;this.run=e;this.requests=n;let r=e.plots;this.view=new wt(r.running.length,$r/r.bin_ns);let l=v=>o(
"canvas",{tabindex:"0",role:"img","aria-label":v}),h=(v,w,k,...T)=>o("figure",null,o("figcaption",null,typeof v=="string"?o("span",null,v):v,o("span",{class:"ke\
ys"},...w.map(([E,$])=>vi(E,$)),...T)),k),d=[...r.steady.length?[["info","steady"]]:[],...r.profiled.length?[["k3","captured window"]]:[]],u=o("input",{type:"ch\
eckbox"});u.checked=!0,u.addEventListener("change",()=>{this.latency.log=u.checked,this.latency.draw()});let p=l(`Latency of requests by ${r.at_once?"end":"send"}\
 time`);this.latency=new De(p,220,r,this.view),this.latency.whenClicked((v,w)=>{let k=this.latency.near(v,w);this.choose(k<0?null:r.index[k])});let m=new Ue(l("\
Requests in progress over time"),100,r,this.view,!1);m.queue=e.server,this.binned.push(m),this.plots.push(this.latency,m);let c=r.embedding?null:new je(l("Outpu\
t tokens per second over time"),100,r,this.view,!1);c&&(this.tokens=c,this.rate.textContent=c.title(),this.binned.push(c),this.plots.push(c)),this.bars=new Ve(l(
"Requests as bars over time"),r,this.view,n),this.bars.whenChosen=v=>this.choose(v),this.plots.push(this.bars);let f=r.touched.some(v=>v>0)?[["k4","affected by \
it: excluded from figures"]]:[],b=r.embedding?[["k0","E2E"]]:[["k1","TTFT"],["k0","E2E"]],x=r.spreads.map(v=>{let w=new We(l(v.title+" by percentile"),190,v);return w.
other=s?.plots.spreads.find(k=>k.name===v.name)??null,this.plots.push(w),h(v.title,w.other?[["k0","this run"],["k4","before"]]:[],w.canvas,o("span",{class:"soft"},
v.note))});this.el=o("div",{class:"run"},o("header",null,o("div",{class:"what"},o("h2",null,e.title),o("p",{class:"verdict"},e.verdict),...e.next.map(v=>o("p",{
class:"next"},v)),o("p",{class:"facts"},[e.id,...e.tags,...e.head].join(" · "))),o("div",{class:"choices"},this.repetitions(),o("label",null,"against ",this.against))),
o("div",{class:"cards"},...e.cards.map((v,w)=>o("div",{class:"card"},o("span",null,v.name),o("b",null,v.value),o("span",null,v.more),s?.cards[w]?.name===v.name&&
o("span",{class:"before"},"before: "+s.cards[w].value)))),i&&qr(i),o("div",{class:"axis"},o("div",{class:"plots"},h(r.embedding?"E2E of each request":"TTFT and \
E2E of each request",[...b,...f,["high","failed"],...d],p,o("label",null,u," logarithmic")),c&&h(this.rate,gt(r)?[["compute","busiest second"],["k1","mean"]]:[],
c.canvas),h("Requests",[["host","in progress"],...r.embedding?[]:[["k0","in decode"]],...e.server.length?[["k3","queued, as reported by the server"]]:[]],m.canvas),
this.strip,h("Requests one by one",[["k1","until the first token"],["k0","decode"],["k4","end"],["high","failed"]],this.bars.canvas,this.note),o("p",{class:"hin\
t"},"Drag to zoom all plots, double-click to show the whole run. Click a dot or a bar to see the waits of its request.")),this.side),this.slow,o("section",null,
o("h3",null,"Distributions"),o("div",{class:"spreads"},...x)),o("section",{class:"said"},o("h3",null,"Other facts"),o("dl",null,...e.facts.flatMap(v=>[o("dt",null,
v.label),o("dd",{class:v.severity&&"fact-"+v.severity},v.text)]))),...e.tables.map(v=>o("section",null,o("h3",null,v.title),Dn(v)))),this.view.whenMoved=()=>this.
moved(),e.recorded&&y(this.strip,o("p",{class:"soft"},"Reading the recorded steps…"))}store;run;requests;el;against=o("select",{"aria-label":"Compare with"});view;plots=[];latency;tokens=null;rate=o(
"span");binned=[];bars;lanes=null;steps=null;strip=o("div",{class:"strip"});slow=o("section",{class:"slow"});side=o("div",{class:"side"});note=o("span",{class:"\
soft"});chosen="";timer=0;start(){this.follow(this.store.params),this.restyle()}restyle(){for(let t of this.plots)t.draw()}close(){clearTimeout(this.timer);for(let t of this.
plots)t.drop()}repetitions(){let{run:t}=this;if(t.reps<2)return null;let e=o("select",{"aria-label":"Repetition"},...Array.from({length:t.reps},(n,s)=>o("option",
{value:s},`run ${s+1} of ${t.reps}`)));return e.value=String(t.rep),e.addEventListener("change",()=>this.store.set({rep:e.value,req:null,pass:null,lane:null},"p\
ush")),e}follow(t){let e=this.run.plots.bin_ns,n=this.run.plots.running.length*e,s=R(t,"b0",0)/e,i=R(t,"b1",n)/e;(Math.abs(s-this.view.lo)>1e-6||Math.abs(i-this.
view.hi)>1e-6)&&this.view.zoom(s,i);let r=JSON.stringify([t.req,t.lane,t.pass]);r!==this.chosen&&(this.chosen=r,t.req!==void 0?this.showRequest(R(t,"req",-1)):t.
pass!==void 0&&this.steps?this.showStep({lane:R(t,"lane",0),step:R(t,"pass",-1)}):this.bare())}moved(){let t=this.run.plots.bin_ns,e=this.view.hi-this.view.lo>=
this.view.cols-1e-9;this.store.set({b0:e?null:this.view.lo*t,b1:e?null:this.view.hi*t}),clearTimeout(this.timer),this.timer=window.setTimeout(()=>{this.refine()},
Hr)}async refine(){let t=this.run.plots,{lo:e,hi:n}=this.view,s={run:this.run.id,rep:this.run.rep,from:Math.round(Math.max(e*t.bin_ns,0)),to:Math.round(n*t.bin_ns)},
i=n-e<this.view.cols/2&&t.bin_ns>1e6,[r,l]=await Promise.all([i?M("load/timeline",s):null,this.requests.of>this.requests.index.length||this.requests.of<this.run.
plots.at.length?M("load/requests",s):null]);if(!(e!==this.view.lo||n!==this.view.hi)){for(let h of this.binned)h.fine=r,h.draw();this.tokens&&(this.rate.textContent=
this.tokens.title()),l&&this.take(l)}}take(t){this.requests=t,this.bars.show(t);let e=t.of-t.index.length;this.note.textContent=e>0?`${t.index.length} of ${t.of}\
 shown`:""}zoom(t){let e=this.view.col>=0?this.view.col+.5:(this.view.lo+this.view.hi)/2,n=(this.view.hi-this.view.lo)/2*t;this.view.zoom(e-n,e+n)}pan(t){let e=(this.
view.hi-this.view.lo)*t;this.view.zoom(this.view.lo+e,this.view.hi+e)}whole(){this.view.zoom(0,this.view.cols)}captured(){let t=this.steps?.lanes.flatMap(r=>r.windows)??
[],e=t.length?t:this.run.plots.profiled;if(e.length===0)return;let n=Math.min(...e.map(r=>r.from)),s=Math.max(...e.map(r=>r.to)),i=(s-n)*.03;this.view.zoom((n-i)/
this.run.plots.bin_ns,(s+i)/this.run.plots.bin_ns)}choose(t){this.store.set({req:t,lane:null,pass:null},"push")}release(){this.store.params.req!==void 0||this.store.
params.pass!==void 0?this.choose(null):this.whole()}next(t){let e=this.requests.index,n=e.indexOf(R(this.store.params,"req",-1)),s=e[n<0?t>0?0:e.length-1:Math.min(
Math.max(n+t,0),e.length-1)];s!==void 0&&this.store.set({req:s,lane:null,pass:null})}bare(){this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,[]),this.
lanes?.light(null),this.panel(null)}panel(t){y(this.side,t),this.el.classList.toggle("open",t!==null)}async showRequest(t){let e=this.chosen,n=await M("load/req\
uest",{run:this.run.id,rep:this.run.rep,index:t});e===this.chosen&&(this.latency.chosen=this.run.plots.index.indexOf(t),this.latency.again(),this.bars.light(t,n.
with.map(s=>s.index)),this.lanes?.light(n.steps.length?n.steps:null),this.panel(bi(n,this.steps,{request:s=>this.choose(s),timeline:(s,i,r)=>this.timeline(s,i,r),
close:()=>this.choose(null)})))}async showStep(t){let e=this.chosen,n=this.steps?.lanes[t.lane],s=await M("load/step",{run:this.run.id,lane:t.lane,step:t.step});
if(e!==this.chosen||!this.steps||!n)return;this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,s.with.map(r=>r.index)),this.lanes?.light([t]);let i=this.
timeline(t.lane,n.from[t.step],n.to[t.step]);this.panel(o("aside",{class:"panel","aria-label":"Step "+t.step},o("header",null,o("h2",null,`Step ${t.step}`),o("b\
utton",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:()=>this.choose(null)}},"×")),o("p",null,o("code",null,this.steps.names[n.name[t.step]])),
o("dl",null,o("dt",null,"where"),o("dd",null,Pt(n)),o("dt",null,"kind"),o("dd",null,this.steps.kinds[n.kind[t.step]]),o("dt",null,"from"),o("dd",null,g(n.from[t.
step])),o("dt",null,"took"),o("dd",null,g(n.to[t.step]-n.from[t.step]))),i&&o("p",null,o("a",{href:i},"show in the timeline")),o("section",null,o("h3",null,s.with.
length?"Requests in this step":"No request of this load was in this step"),o("p",{class:"chips"},...s.with.map(r=>o("button",{class:"chip",title:r.id,on:{click:()=>this.
choose(r.index)}},String(r.index)))))))}timeline(t,e,n){let s=this.steps?.lanes[t];if(!s)return null;let i=Math.max((n-e)*.05,1e4);return C(A(this.store.params,
{tab:"timeline",c:s.capture,t0:e+s.shift-i,t1:n+s.shift+i}))}join(t){this.steps=t;let e=o("canvas",{tabindex:"0",role:"img","aria-label":"Recorded steps over ti\
me"});y(this.strip,o("figure",null,o("figcaption",null,o("span",null,"Steps that were recorded"),o("span",{class:"keys"},...t.kinds.map((n,s)=>vi(["k0","k1","k2",
"k3","k4"][["decode","prefill","mixed","other","idle"].indexOf(n)]??"k"+s%5,n)),o("button",{class:"link",title:"Key: c",on:{click:()=>this.captured()}},"zoom to\
 them"))),e)),this.lanes=new Ge(e,this.run.plots,this.view,t),this.lanes.whenChosen=n=>this.store.set({req:null,lane:n.lane,pass:n.step},"push"),this.plots.push(
this.lanes),this.lanes.draw(),y(this.slow,o("h3",null,"Waits of the slow requests",o("span",{class:"soft"},t.steps_by==="time"?", by time":", by request id")),o(
"div",{class:"tails"},this.run.plots.embedding?null:this.tail("TTFT",t.ttft),this.tail("Time between tokens",t.itl)),...t.notes.map(n=>o("p",{class:"soft"},n))),
this.chosen="",this.follow(this.store.params)}unjoined(t){y(this.strip,o("p",{class:"soft"},"The waits of requests in recorded steps are unknown: "+t))}tail(t,e){
let n=[...new Set(e.cases)];return o("div",null,o("h4",null,t,o("span",{class:"soft"},e.n?`, p99 of ${e.n}: ${g(e.p99_ns)}`:"")),n.length===0?o("p",{class:"soft"},
"none in the recorded window"):Ke(e.parts,!0),e.below&&o("p",{class:"soft"},"none at or above p99 is in the recorded window: this is the slowest one there"),o("\
p",{class:"chips"},...n.slice(0,24).map(s=>o("button",{class:"chip",title:"what request "+s+" waited for",on:{click:()=>this.choose(s)}},String(s)))))}};function vi(a,t){
let e=o("i");return e.style.background=`var(--${a})`,o("span",{class:"key"},e,t)}function qr(a){return o("section",{class:"compared"},o("h3",null,"B against A"),
o("dl",null,o("dt",null,"A"),o("dd",null,a.sides[0]),o("dt",null,"B"),o("dd",null,a.sides[1])),o("p",{class:"verdict"},a.verdict),a.unlike.length>0&&o("ul",null,
...a.unlike.map(t=>o("li",null,t))),...a.tables.map(t=>Dn(t)),...a.notes.map(t=>o("p",{class:"soft"},t)))}function wi(a,t){return JSON.stringify([a.run??t.session.run,a.rep,a.vs])}var jn=class{constructor(t){this.context=t;let{keys:e}=t,n=s=>()=>this.page&&s(this.page);
e.bind("w +","Benchmark","zoom in",n(s=>s.zoom(.5))),e.bind("s -","Benchmark","zoom out",n(s=>s.zoom(2))),e.bind("a","Benchmark","move to earlier times",n(s=>s.
pan(-.25))),e.bind("d","Benchmark","move to later times",n(s=>s.pan(.25))),e.bind("0","Benchmark","show the whole run",n(s=>s.whole())),e.bind("c","Benchmark","\
show the captured window",n(s=>s.captured())),e.bind("j","Benchmark","next request",n(s=>s.next(1))),e.bind("k","Benchmark","previous request",n(s=>s.next(-1))),
e.bind("Escape","Benchmark","clear the selection",n(s=>s.release())),this.open()}context;el=o("div",{class:"bench"});page=null;shown="";gone=new AbortController;update(t){
wi(t,this.context)===this.shown?this.page?.follow(t):this.open()}restyle(){this.page?.restyle()}close(){this.gone.abort(),this.page?.close()}open(){let{store:t,
session:e}=this.context,n=t.params,s=n.run??e.run;this.close(),this.page=null,this.shown=wi(n,this.context),this.gone=new AbortController,s===""?this.choose():this.
show(s,n.rep,n.vs)}async choose(){let{signal:t}=this.gone,e=await M("load/runs",{},t);if(t.aborted)return;if(e.length===0){y(this.el,o("div",{class:"none"},o("h\
2",null,"No benchmark run yet"),o("p",null,"Each ",o("code",null,"stepscope bench serving --url http://HOST:30000")," keeps one; with ",o("code",null,"--profile"),
" it also records steps.")));return}let n=["request throughput","output throughput","TTFT p50","TTFT p99","ITL p50","ITL p99"];y(this.el,o("h2",null,"Benchmark \
runs"),o("div",{class:"scroll"},o("table",null,o("thead",null,o("tr",null,o("th",null,"run"),o("th",null,"model"),o("th",null,"tags"),...n.map(s=>o("th",{class:"\
r"},s)),o("th",null,"steps"))),o("tbody",null,...e.map(s=>o("tr",null,o("td",null,o("a",{href:this.at({run:s.id})},s.id),s.status!=="complete"&&o("span",{class:"\
soft"}," "+s.status)),o("td",null,s.model),o("td",null,s.tags.join(", ")),...n.map(i=>{let r=s.numbers.find(l=>l.name===i);return o("td",{class:"r"},r?`${r.value.
toPrecision(3)} ${r.unit??""}`:"–")}),o("td",null,s.traces>0?"recorded":"")))))))}at(t){return C(A(this.context.store.params,{tab:"bench",...t}))}async show(t,e,n){
let{signal:s}=this.gone,{store:i,session:r}=this.context,l={run:t,rep:e},h=n===void 0||n===t?null:{run:n},[d,u,p,m]=await Promise.all([M("load",l,s),M("load/req\
uests",l,s),h&&M("load",h,s),h&&M("load/compare",{run:t,vs:n},s)]);if(s.aborted)return;let c=this.page=new Xe(i,d,u,p,m);y(this.el,c.el),c.start();let f=c.against;
if(!r.exported){let b=await M("load/runs",{},s);if(s.aborted)return;y(f,o("option",{value:""},"no other run"),...b.filter(x=>x.id!==t).map(x=>o("option",{value:x.
id},[x.id,...x.tags].join(" ")))),f.value=n??"",f.addEventListener("change",()=>i.set({vs:f.value||null},"push")),f.disabled=f.options.length<2}if(d.recorded)try{
let b=await M("load/steps",{run:t},s);!s.aborted&&b.rep===d.rep?c.join(b):s.aborted||c.unjoined(`steps were recorded in repetition ${b.rep+1} of this load`)}catch(b){
if(s.aborted)return;c.unjoined(b instanceof Error?b.message:String(b))}}},xi={id:"bench",title:"Benchmark",needs:"runs",open:a=>new jn(a)};function Un(a){return a.p99_to_ns===null?"over "+g(a.p99_from_ns):a.p99_from_ns>0?`${g(a.p99_from_ns)} to ${g(a.p99_to_ns)}`:"under "+g(a.p99_to_ns)}var Ct=["ru\
nning","queued","tokens","usage"],Nr=6e4,yi=10*6e4,Kt=class{samples;constructor(t){this.samples=Array.from({length:t},()=>[])}add(t){let e=this.samples[t.server];
if(!e)return;e.push(t);let n=e.findIndex(s=>s.at_ms>=t.at_ms-yi);n>0&&e.splice(0,n)}last(t){return this.samples[t].at(-1)}replies(t){return this.samples[t].slice(
-60).flatMap(e=>e.reply_ns??[])}ranks(t){return[...new Set(this.samples[t].flatMap(e=>e.ranks.map(n=>n.dp)))].sort((e,n)=>e-n)}line(t,e,n){let s=this.samples[t];
return{at:s.map(i=>i.at_ms),values:s.map(i=>i.ranks.find(r=>r.dp===e)?.[n]??null)}}span(t){let e=Math.min(...this.samples.map(n=>n[0]?.at_ms??t));return Math.min(
Math.max(t-e,Nr),yi)}total(t){let e=new Map,n={at:[],values:[]};for(let s of this.samples.flat().sort((i,r)=>i.at_ms-r.at_ms)){if(s.error&&!e.has(s.server))continue;
e.set(s.server,s.error?null:ht(s.ranks.map(r=>r[t])));let i=[...e.values()];n.at.push(s.at_ms),n.values.push(i.includes(null)?null:ht(i))}return n}imbalance(t){
let e=this.samples[t];return{at:e.map(n=>n.at_ms),values:e.map(n=>Or(n.ranks.map(s=>ht([s.running,s.queued]))))}}top(t){let e=0;for(let n of this.samples.flat())
for(let s of n.ranks)e=Math.max(e,s[t]??0);return e}};function ki(a){if(a.length<20)return"";let t=[...a].sort((r,l)=>r-l),e=r=>t[Math.floor(r*(t.length-1))],n=e(
.2),s=t.filter(r=>r>Math.max(4*n,1e7)),i=e(.95);return s.length<t.length/5||i<2e7?"":`answers in stalls: ${s.length} of the last ${t.length} replies took up to ${g(
i)}, the others about ${g(n)}. Its process is stopped at times, held by a CPU quota, or busy`}function Or(a){let t=a.filter(n=>n!==null),e=ht(t);return t.length<
2||!e?null:Math.max(...t)*t.length/e}function ht(a){let t=a.filter(e=>e!==null);return t.length?t.reduce((e,n)=>e+n,0):null}function Mi(a,t,{now:e,span:n},s,i){let r=[],l=[];return a.values.forEach((h,d)=>{if(h===null||a.at[d]<e-n){l.length&&r.push(l),l=[];return}l.push([s*(1-(e-a.at[d])/
n),i*(1-Math.min(h/(t||1),1))])}),l.length&&r.push(l),r}function Si(a,t,e,n,s,i){a.strokeStyle=a.fillStyle=e;for(let r of t){a.beginPath();for(let[l,h]of r)a.lineTo(
n+l,s+h);r.length===1&&a.lineTo(n+r[0][0]+1,s+r[0][1]),a.stroke(),a.lineTo(n+r[r.length-1][0],i),a.lineTo(n+r[0][0],i),a.globalAlpha=.15,a.fill(),a.globalAlpha=
1}}var Ye=26,Je=class{constructor(t){this.color=t}color;canvas=o("canvas",{"aria-hidden":"true"});draw(t,e,n){let s=window.devicePixelRatio||1,i=this.canvas.getContext(
"2d"),r=this.canvas.clientWidth;if(!i||r===0)return;this.canvas.width=Math.round(r*s),this.canvas.height=Math.round(Ye*s),i.setTransform(s,0,0,s,0,0);let l=nt();
i.fillStyle=l("line"),i.fillRect(0,Ye-1,r,1),i.lineWidth=1.25,Si(i,Mi(t,e,n,r,Ye-3),l(this.color),0,1.5,Ye)}},Qe=class extends G{constructor(e,n){super(e,120,{left:52,
bottom:20});this.text=n}text;lines=[];sight={now:0,span:1};show(e,n){this.lines=e,this.sight=n,this.draw()}paint(e){let{ctx:n,area:s,color:i}=e,{now:r,span:l}=this.
sight,h=Math.max(...this.lines.flatMap(d=>d.line.values.map((u,p)=>d.line.at[p]>=r-l?u??0:0)),0)*1.08||1;this.yAxis(e,h,this.text),n.fillStyle=i("soft"),n.textBaseline=
"top";for(let[d,u]of[[0,"left"],[.5,"center"],[1,"right"]])n.textAlign=u,n.fillText(d===1?"now":"−"+g(Math.round(l*(1-d)/1e3)*1e9).replace(/\.0+ /," "),s.x+s.
w*d,s.y+s.h+5);n.lineWidth=1.5;for(let d of this.lines)Si(n,Mi(d.line,h,this.sight,s.w,s.h),i(d.color),s.x,s.y,s.y+s.h)}};var _i=60;function Wn(a,t,{now:e,span:n}){let s=i=>1-(e-i)/n;return s(t)<0||s(a)>1?null:[Math.max(s(a),0),Math.min(s(t),1)]}function Ei(a,t){return a.slice(a.indexOf(
t)+1).find(n=>["over","alarm"].includes(n.kind)&&n.rule===t.rule&&n.server===t.server||n.kind==="end")?.at_ms??1/0}var $t=class extends Qe{marks=[];found(t){this.
marks=t,this.draw()}paint(t){let{ctx:e,area:n,color:s}=t;for(let i of this.marks){if(!i.onset_ms)continue;let r=Wn(i.after_ms,i.onset_ms,this.sight),l=Wn(i.at_ms,
i.at_ms,this.sight);e.fillStyle=e.strokeStyle=s("high");let h=Wn(i.onset_ms,Math.min(Ei(this.marks,i),this.sight.now),this.sight);h&&(e.globalAlpha=.1,e.fillRect(
n.x+n.w*h[0],n.y,n.w*(h[1]-h[0]),n.h),e.globalAlpha=1),r&&(e.globalAlpha=.35,e.fillRect(n.x+n.w*r[0],n.y,Math.max(n.w*(r[1]-r[0]),2),n.h),e.globalAlpha=1),l&&(e.
lineWidth=1,e.setLineDash([3,3]),e.beginPath(),e.moveTo(n.x+n.w*l[0],n.y),e.lineTo(n.x+n.w*l[0],n.y+n.h),e.stroke(),e.setLineDash([]))}super.paint(t)}},Ti={alarm:"\
begins",verdict:"verdict",failed:"failed",lost:"lost"},Li=a=>a.kind!=="begin",Ze=class{constructor(t,e){this.marks=t;this.open=e;y(this.told,o("h2",null,"Findin\
gs"),this.list),this.write()}marks;open;told=o("section",{class:"watched","aria-live":"polite"});plot=new $t(o("canvas",{role:"img","aria-label":"Requests of th\
e busiest rank relative to the mean, over the last minutes"}),t=>t.toFixed(1));figure=o("figure",null,o("figcaption",null,"Busiest rank over the mean"),this.plot.
canvas);list=o("ol",{class:"marks"});add(t){if(this.marks.push(t),!!Li(t))for(this.list.dataset.none||t.kind==="over"||t.kind==="end"?this.write():this.list.prepend(
this.item(t));this.list.children.length>_i;)this.list.lastElementChild?.remove()}show(t,e){let n=t.filter(s=>s.values.some(i=>i!==null));this.figure.hidden=n.length===
0,this.plot.show(n.map((s,i)=>({line:s,color:"k"+String(i%4)})),e),this.plot.found(this.marks)}drop(){this.plot.drop()}write(){let t=this.marks.filter(Li).slice(
-_i).reverse();t.length?delete this.list.dataset.none:this.list.dataset.none="1",y(this.list,...t.length?t.map(e=>this.item(e)):[o("li",{class:"soft"},"Nothing \
yet.")])}item(t){let e=i=>new Date(i).toLocaleTimeString([],{hour12:!1}),n=t.kind==="alarm"?Ei(this.marks,t):1/0,s=n<1/0&&`over at ${e(n)}`;return o("li",{class:s!==
!1?"past":Ti[t.kind]?"loud "+t.kind:null,data:{kind:t.kind}},o("time",{datetime:new Date(t.at_ms).toISOString()},e(t.at_ms)),o("b",null,Ti[t.kind]??t.kind),o("s\
pan",null,[t.server,t.rank===t.server?"":t.rank].filter(i=>i).join(" ")),o("span",{class:"text"},s&&o("b",null,s+": "),t.text,t.capture!==""&&" ",t.capture!==""&&
o("button",{class:"link",on:{click:()=>this.open(t.capture)}},"open "+t.capture)))}};var Gn={running:"running",queued:"queued",tokens:"tokens/s",usage:"KV cache"},Xt={running:"k0",queued:"k3",tokens:"compute",usage:"k2"};function bt(a,t){return t==
null?"–":a==="usage"?_(t):S(t<10&&!Number.isInteger(t)?t.toFixed(1):String(Math.round(t)))}function Ai(a,t){return t>0?`0 to ${bt(a,t)}`:""}function Ri({name:a,
role:t}){return t===""||a.toLowerCase().includes(t)?a:`${t} ${a}`}var Vn=class{constructor(t,e,n){this.server=t;this.dp=e;this.cells=Ct.map(s=>({measure:s,value:o(
"b"),spark:new Je(Xt[s])})),this.el=o("tr",null,o("th",{scope:"row"},n),...this.cells.map(s=>o("td",{data:{title:Gn[s.measure]}},o("div",{class:"cell"},s.spark.
canvas,s.value))))}server;dp;el;cells;draw(t,e,n){let s=t.last(this.server)?.ranks.find(i=>i.dp===this.dp);for(let i of this.cells)i.value.closest("td").dataset.
title=Gn[i.measure]+" "+Ai(i.measure,e[i.measure]),i.value.textContent=bt(i.measure,s?.[i.measure]),i.spark.draw(t.line(this.server,this.dp,i.measure),e[i.measure],
n)}},Kn=class{constructor(t){this.context=t;this.steps.value=String(R(t.store.params,"steps",10)),this.steps.addEventListener("change",()=>t.store.set({steps:Math.
min(Math.max(Number(this.steps.value)||10,1),1e4)})),t.keys.bind("r","Live","record a window of all ranks",()=>{this.record()}),y(this.el,o("p",{class:"soft"},"\
Asking the servers…")),this.events=new EventSource("api/live"),this.on("hello",e=>this.hello(e)),this.on("sample",e=>this.sample(e)),this.on("capture",e=>this.
capture(e)),this.on("mark",e=>this.mark(e)),this.events.addEventListener("error",()=>this.lost("stepscope does not answer: has it stopped?"))}context;el=o("div",
{class:"live"});events;history=new Kt(0);servers=[];rows=new Map;cards=o("div",{class:"cards"});body=o("tbody");trouble=o("p",{class:"lost",role:"status",hidden:!0});shot=o(
"section",{class:"shot"});steps=o("input",{type:"number",min:"1",max:"10000","aria-label":"Forward steps"});button=o("button",{class:"button",on:{click:()=>{this.
record()}}},"Record");told=o("div",{class:"told","aria-live":"polite"});requests=new $t(o("canvas",{role:"img","aria-label":"Requests running and queued over th\
e last minutes"}),t=>bt("running",t));output=new $t(o("canvas",{role:"img","aria-label":"Output tokens per second over the last minutes"}),t=>bt("tokens",t));watched=null;awaited=0;pending=0;scales=Object.
fromEntries(Ct.map(t=>[t,o("span",{class:"scale"})]));on(t,e){this.events.addEventListener(t,n=>e(JSON.parse(n.data)))}update(){this.steps.value=String(R(this.context.
store.params,"steps",10))}restyle(){this.draw()}close(){this.events.close(),cancelAnimationFrame(this.pending),this.requests.drop(),this.output.drop(),this.watched?.
drop()}lost(t){this.trouble.hidden=t==="",this.trouble.textContent=t}hello(t){this.servers=t.servers,this.history=new Kt(t.servers.length);for(let n of t.samples)
this.history.add(n);this.rows.clear(),this.lost(""),y(this.shot,o("label",null,"Record ",this.steps," forward steps of all ranks "),this.button,this.told),this.
button.disabled=!t.records,t.records||y(this.told,o("p",{class:"soft"},t.servers.every(n=>n.url==="")?"Recording needs a server, not only a log: give its --url.":
"There is no directory for recordings: give --run-dir."));let e=(n,s)=>{let i=o("i");return i.style.background=`var(--${Xt[n]})`,o("span",{class:"key"},i,s)};this.
watched?.drop(),this.watched=t.watched?new Ze(t.marks,n=>this.open(n)):null,y(this.el,this.trouble,this.cards,this.watched?this.watched.told:this.shot,o("div",{
class:"together"},o("figure",null,o("figcaption",null,"Requests ",e("running","running"),e("queued","queued")),this.requests.canvas),o("figure",null,o("figcapti\
on",null,"Output tokens/s"),this.output.canvas),this.watched&&this.watched.figure),o("div",{class:"scroll"},o("table",{class:"ranks"},o("thead",null,o("tr",null,
o("th",{scope:"col"},"rank"),...Ct.map(n=>o("th",{scope:"col"},Gn[n]," ",this.scales[n])))),this.body)),o("p",{class:"soft"},`Servers are polled every ${g(t.every_ms*
1e6)}${t.watched?"":" while a page shows them"}. All ranks share one scale.`)),t.capture&&this.capture(t.capture),this.draw()}sample(t){this.history.add(t),this.
draw()}mark(t){this.watched?.add(t),this.draw()}draw(){cancelAnimationFrame(this.pending),this.pending=requestAnimationFrame(()=>this.paint())}paint(){let t=this.
servers.map((f,b)=>this.history.last(b)),e=Math.max(...t.map(f=>f?.at_ms??0)),n=Object.fromEntries(Ct.map(f=>[f,f==="usage"?1:this.history.top(f)])),s=[];this.servers.
forEach((f,b)=>{for(let x of this.history.ranks(b)){let v=`${b} ${x}`,w=this.history.ranks(b).length>1,k=[this.servers.length>1?Ri(f):"",w?"DP"+String(x).padStart(
2,"0"):""].filter(E=>E!=="").join(" ")||f.name,T=this.rows.get(v);(!T||T.el.cells[0].textContent!==k)&&this.rows.set(v,T=new Vn(b,x,k)),s.push(T)}}),(s.length!==
this.body.rows.length||s.some((f,b)=>this.body.rows[b]!==f.el))&&y(this.body,...s.map(f=>f.el));for(let f of Ct)this.scales[f].textContent=Ai(f,n[f]);let i={now:e,
span:this.history.span(e)};for(let f of s)f.draw(this.history,n,i);this.requests.show([{line:this.history.total("running"),color:Xt.running},{line:this.history.
total("queued"),color:Xt.queued}],i),this.output.show([{line:this.history.total("tokens"),color:Xt.tokens}],i),this.watched&&(this.watched.show(this.servers.map(
(f,b)=>this.history.imbalance(b)),i),this.requests.found(this.watched.marks),this.output.found(this.watched.marks));let r=t.flatMap(f=>f?.ranks??[]),l=f=>t.map(
b=>b?.[f]).filter(b=>b!=null).sort((b,x)=>x.mean_ns-b.mean_ns)[0],h=r.map(f=>f.usage).filter(f=>f!==null),d=l("ttft"),u=l("itl"),p=(f,b,x)=>o("div",{class:"card"},
o("span",null,f),o("b",null,b),o("span",null,x));y(this.cards,p("Running",bt("running",ht(r.map(f=>f.running))),"requests"),p("Queued",bt("queued",ht(r.map(f=>f.
queued))),"requests"),p("Output",bt("tokens",ht(t.map(f=>f?.tokens??null))),"tokens/s"),p("KV cache",h.length?_(Math.max(...h)):"–",r.length>1?"of the rank th\
at uses most":"in use"),p("TTFT",d?g(d.mean_ns):"–",d?"mean now; p99 "+Un(d):"no first token at the moment"),p("Between tokens",u?g(u.mean_ns):"–",u?"mean n\
ow; p99 "+Un(u):"no token at the moment"));let m=t.map((f,b)=>f?.error?`${this.servers[b].name}: ${f.error}`:f?.restarted?`${this.servers[b].name} was restarted`:
"").filter(f=>f!==""),c=this.servers.flatMap((f,b)=>ki(this.history.replies(b)).replace(/^./,x=>`${Ri(f)} ${x}`)||[]);this.lost([...m,...c].join("; ")),this.el.
dataset.drawn=String(e)}async record(){if(!this.button.disabled)try{if(this.button.dataset.stops){await on("live/stop",{});return}let t=Math.min(Math.max(Math.round(
Number(this.steps.value))||10,1),1e4);this.awaited=(await on("live/capture",{steps:t})).n}catch(t){y(this.told,o("p",{class:"bad"},t instanceof Error?t.message:
String(t)))}}capture(t){let e=t.state==="recording",{store:n}=this.context;this.button.textContent=e?"Stop":"Record",e?this.button.dataset.stops="1":delete this.
button.dataset.stops,this.steps.disabled=e;let s=t.state==="done"&&o("p",null,"Kept as run ",o("button",{class:"link",on:{click:()=>this.open(t.run)}},t.run),".");
y(this.told,e&&o("p",null,`Recording ${t.steps} steps…`),(t.state==="failed"||t.state==="stopped")&&o("p",{class:"bad"},t.error),s,t.now.length>0&&o("pre",null,
t.now.join(`
`)),t.lines.length>0&&o("details",{open:t.state==="failed"},o("summary",null,"Messages"),o("pre",null,t.lines.join(`
`)))),this.told.dataset.state=t.state,t.state==="done"&&t.n===this.awaited&&(this.awaited=0,n.params.tab==="live"&&this.open(t.run))}open(t){let{store:e}=this.context;
e.go(A(e.params,{tab:"summary",c:t,run:null}))}};function zr(){return{el:o("div",{class:"live none"},o("h2",null,"No server is shown"),o("p",null,"Give its URL:\
 ",o("code",null,"stepscope view --url http://HOST:30000"),". Its requests, tokens and cache are then shown here, rank by rank, and windows of all ranks can be \
recorded."))}}var Xn={id:"live",title:"Live",needs:"server",open:a=>a.session.live?new Kn(a):zr()};function Ir(a){let t=new Date(a),e=n=>String(n).padStart(2,"0");return`${t.getFullYear()}-${e(t.getMonth()+1)}-${e(t.getDate())} ${e(t.getHours())}:${e(t.getMinutes())}`}
function Pi(a){let t=Math.abs(a.value)>=1e3?S(String(Math.round(a.value))):String(Number(a.value.toPrecision(3)));return`${a.name} ${t}${a.unit?" "+a.unit:""}`}
var Yn=class{constructor(t){this.context=t;let{store:e,keys:n}=t;this.table=new Rt(e,"Runs",this.columns(),"-created",s=>[s.id,s.kind,s.status,s.model,s.backend,
...s.tags].join(" ")),this.search.value=e.params.q??"",this.search.addEventListener("input",()=>e.set({q:this.search.value,all:null})),n.bind("/","Runs","filter",
()=>this.search.focus()),M("runs").then(({runs:s})=>{if(s.length===0)return y(this.el,o("p",{class:"none"},"There are no runs yet: bench, profile, demo and job \
each keep one."));y(this.el,o("div",{class:"tools"},o("span",{class:"soft"},`${S(String(s.length))} runs`),o("span",{class:"space"}),this.search),this.table.el),
this.table.set(s)})}context;el=o("div",{class:"runs"});search=o("input",{type:"search",placeholder:"Filter","aria-label":"Filter"});table;columns(){let{store:t,
session:e}=this.context,n=(r,l,h)=>o("a",{href:C(A(t.params,r)),title:h},l),s=t.params.c??e.captures[0]?.id,i=r=>[r.traces&&n({tab:"summary",c:r.id},"capture","\
summary of the capture"),r.load&&n({tab:"bench",run:r.id},"load","latencies of the requests"),r.traces&&s!==void 0&&s.split(":")[0]!==r.id&&n({tab:"kernels",c:s,
vs:r.id},"compare","compare the kernels of the open capture with those of this run")];return[{id:"created",title:"when",num:r=>r.created_ms,text:r=>Ir(r.created_ms),
class:"when"},{id:"kind",title:"kind",text:r=>r.kind},{id:"status",title:"status",text:r=>r.status,cell:r=>o("span",{class:"status is-"+r.status.replace(/[^a-z]/g,
""),title:r.problem},r.status)},{id:"model",title:"model",class:"name",text:r=>r.model,cell:r=>o("span",{class:"cut",title:[r.model,r.backend,...r.tags].filter(
l=>l!=="").join(", ")},r.model||r.backend,...r.tags.map(l=>o("span",{class:"chip"},l)))},{id:"numbers",title:"figures",text:r=>r.numbers.map(Pi).join(", "),cell:r=>r.
numbers.slice(0,3).map(Pi).join(" · ")},{id:"size",title:"size",num:r=>r.size,text:r=>ss(r.size)},{id:"id",title:"id",text:r=>r.id,cell:r=>o("code",null,r.id)},
{id:"show",title:"show",text:()=>"",cell:r=>o("span",{class:"ways"},...i(r))}]}update(t,e){["q","sort","all"].some(n=>t[n]!==e[n])&&this.table.draw()}},tn={id:"\
runs",title:"Runs",needs:"runs",open:a=>new Yn(a)};var Jn=[cn,Ks,ii,Fe,di,xi,Xn,tn],W=document.documentElement,Ci=matchMedia("(prefers-color-scheme: dark)");function Yt(a){if(a instanceof DOMException&&a.name===
"AbortError")return;let t=a instanceof Error?a.message:String(a);W.dataset.error??=t,Jt.hidden=!1,y(Jt,t)}addEventListener("error",a=>Yt(a.error??a.message));addEventListener(
"unhandledrejection",a=>Yt(a.reason));var Jt=o("p",{class:"trouble",role:"alert",hidden:!0}),V=o("main",{id:"main",tabindex:"-1"}),Qn=class{constructor(t){this.
session=t;document.body.replaceChildren(o("a",{class:"skip",href:"#main",on:{click:e=>(e.preventDefault(),V.focus())}},"Skip to the view"),o("header",{class:"to\
p"},o("h1",null,"stepscope"),this.nav,o("span",{class:"space"}),Fr(t),this.perfetto,this.picker,o("button",{class:"quiet",title:"Light or dark (key: \\)","aria-\
label":"Light or dark",on:{click:()=>this.turn()}},"◐"),o("button",{class:"quiet",title:"Keys (key: ?)","aria-label":"Keys",on:{click:()=>dispatchEvent(new KeyboardEvent(
"keydown",{key:"?"}))}},"?")),Jt,V),[...Jn.filter(e=>e!==Fe),Fe].forEach((e,n)=>this.keys.bind(String(n+1),"Everywhere","show "+e.title,()=>this.offers(e)&&this.
open(e.id))),this.keys.bind("\\","Everywhere","light or dark",()=>this.turn()),this.picker.addEventListener("change",()=>this.store.go(A(this.store.params,{tab:this.
tab().id,c:this.picker.value}))),this.store.follow((e,n)=>this.change(e,n)),Ci.addEventListener("change",()=>this.paint()),as(()=>this.ready()),addEventListener(
"beforeprint",()=>this.paper(!0)),addEventListener("afterprint",()=>this.paper(!1)),this.change(this.store.params,{})}session;store=new ne;keys=new ee;view=null;shown="";loose=[];reaching="";linked="";nav=o(
"nav",{"aria-label":"Views"});perfetto=o("a",{class:"perfetto",target:"_blank",rel:"noopener",title:"Open the merged trace in Perfetto, in a new tab, with the r\
elevant rows pinned"},"Perfetto");picker=o("select",{"aria-label":"Capture",class:"capture"});capture(){let{captures:t}=this.session,{c:e}=this.store.params;return e===
void 0?t[0]:t.find(n=>n.id===e)}offers(t){switch(t.needs){case"capture":return this.session.captures.length>0||this.store.params.c!==void 0;case"light":return this.
capture()?.light??!1;case"server":return!this.session.exported;case"runs":return this.session.runs;case"nothing":return!0}}tab(){let{tab:t}=this.store.params,e=Jn.
filter(s=>this.offers(s)),n=this.session.captures.length>0?cn:this.session.live?Xn:tn;return e.find(s=>s.id===t)??e.find(s=>s===n)??e[0]}open(t){this.store.go(A(
this.store.params,{tab:t}))}turn(){this.store.set({theme:W.dataset.theme==="dark"?"light":"dark"})}paint(){let{theme:t}=this.store.params,e=W.dataset.theme;W.dataset.
theme=W.dataset.print?"light":t==="light"||t==="dark"?t:Ci.matches?"dark":"light",W.dataset.theme!==e&&this.view?.restyle?.()}paper(t){t?W.dataset.print="1":delete W.
dataset.print,t&&V.querySelectorAll("details").forEach(e=>e.open=!0),this.paint(),this.view?.restyle?.()}change(t,e){delete W.dataset.ready,this.paint();let n=this.
tab(),s=this.session.captures,i=this.capture();if(n.needs==="capture"&&t.c!==void 0&&i===void 0)return this.reach(t.c);this.reaching="";let r=JSON.stringify([n.
id,t.c??s[0]?.id]);r===this.shown?this.view?.update?.(t,e):this.show(n,r,{session:this.session,store:this.store,keys:this.scoped(),capture:i}),this.head(n,t),Nt()&&
this.ready()}reach(t){let e=C(this.store.params);if(this.reaching===e)return;this.reaching=e,this.view?.close?.(),this.view=null,this.shown="",V.className="",y(
V,o("p",{class:"wait"},`Reading ${t} …`)),this.head(this.tab(),this.store.params);let n=()=>this.reaching===e;M("session",{open:t}).then(s=>{n()&&(this.session=
s,s.opened!==t?this.store.set({c:s.opened}):this.change(this.store.params,this.store.params))}).catch(s=>{n()&&(V.replaceChildren(),Yt(s))}).finally(()=>n()&&(this.
reaching=""))}scoped(){for(let n of this.loose.splice(0))n();let t=this.keys,e=this.loose;return Object.assign(Object.create(t),{bind(...n){let s=t.bind(...n);return e.
push(s),s}})}show(t,e,n){this.view?.close?.(),P(),this.shown=e,Jt.hidden=!0,delete W.dataset.error;try{this.view=t.open(n),V.className="view-"+t.id,V.replaceChildren(
this.view.el)}catch(s){this.view=null,V.replaceChildren(),Yt(s)}}head(t,e){let n=Jn.filter(h=>this.offers(h)).map(h=>({href:C(A(e,{tab:h.id})),title:h.title,here:h===
t})),s=JSON.stringify(n);this.linked!==s&&y(this.nav,...n.map(h=>o("a",{href:h.href,"aria-current":h.here?"page":null},h.title))),this.linked=s;let i=this.session.
captures,r=e.c??i[0]?.id;this.perfetto.hidden=!this.session.perfetto||r===void 0,this.perfetto.href=`perfetto/${encodeURIComponent(r??"")}/`;let l=Zt(this.session);
this.picker.hidden=l.length<2||!["capture","light"].includes(t.needs)&&t!==tn,this.picker.hidden||(y(this.picker,...l.map(h=>o("option",{value:h.id},h.title))),
this.picker.value=e.c??i[0].id),document.title=`${t.title} · ${i.find(h=>h.id===e.c)?.title??i[0]?.title??"runs"} · stepscope`}ready(){requestAnimationFrame(()=>requestAnimationFrame(
()=>{Nt()&&(W.dataset.ready="1")}))}};function Fr({exported:a,version:t}){return a!==null&&o("details",{class:"exported"},o("summary",null,"standalone page: wha\
t is missing"),o("div",null,o("ul",null,...a.left_out.map(e=>o("li",null,e))),o("p",null,`Written by stepscope ${t}; stepscope view shows the whole capture.`)))}
document.body.replaceChildren(Jt,V);M("session").then(a=>new Qn(a)).catch(Yt);})();
