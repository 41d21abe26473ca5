"use strict";(()=>{var tt=class extends Error{constructor(e,n){super(e);this.status=n}status},Rt=(()=>{let o=document.getElementById("answers");return o===null?null:JSON.parse(o.textContent??
"{}")})();function ge(o,t={}){let e=new URLSearchParams;for(let s of Object.keys(t).sort()){let i=t[s];for(let r of Array.isArray(i)?i:[i])r!=null&&r!==""&&e.append(
s,String(r))}let n=e.toString();return"api/"+o+(n===""?"":"?"+n)}var fe=0,an=()=>{};function on(o){an=o}async function et(o){fe++;try{return await o}finally{setTimeout(
()=>{--fe===0&&an()})}}function mt(){return fe===0}async function be(o,t){let e;try{e=await fetch(o,t)}catch(i){throw t.signal?.aborted?i:new tt("stepscope does\
 not answer: has it been ended?",0)}if(e.ok)return e;let n=await e.text(),s=n;try{s=JSON.parse(n).error}catch{}throw new tt(s,e.status)}function ln(o){let t=Rt?.[o];
if(t===void 0)throw new tt("this is not part of an exported page: open the capture with stepscope view",404);return t}function M(o,t={},e){let n=ge(o,t);return et(
(async()=>Rt!==null?ln(n).json:await(await be(n,e?{signal:e}:{})).json())())}function ve(o,t={},e){let n=ge(o,t);return et((async()=>Rt!==null?Uint8Array.from(atob(
ln(n).base64??""),s=>s.charCodeAt(0)).buffer:await(await be(n,e?{signal:e}:{})).arrayBuffer())())}function we(o,t){if(Rt!==null)return Promise.reject(new tt("an\
 exported page has no server behind it",404));let e={method:"POST",headers:{"Content-Type":"application/json"},body:JSON.stringify(t)};return et((async()=>await(await be(
ge(o),e)).json())())}function a(o,t=null,...e){let n=document.createElement(o);for(let[s,i]of Object.entries(t??{}))if(!(i==null||i===!1))if(s==="on")for(let[r,h]of Object.entries(i))
n.addEventListener(r,h);else s==="data"?Object.assign(n.dataset,i):s==="class"?n.className=String(i):n.setAttribute(s,i===!0?"":String(i));return hn(n,...e),n}function hn(o,...t){
for(let e of t)e==null||e===!1||o.append(typeof e=="number"?String(e):e)}function x(o,...t){o.replaceChildren(),hn(o,...t)}var hs={ArrowLeft:"←",ArrowRight:"→",ArrowUp:"↑",ArrowDown:"↓",Escape:"Esc"," ":"Space",Enter:"Enter"},Et=class{bindings=[];dialog=null;constructor(){addEventListener(
"keydown",t=>this.press(t)),this.bind("?","Everywhere","show the keys",()=>this.show())}bind(t,e,n,s){let i={keys:t===" "?[" "]:t.split(" "),help:n,group:e,run:s};
return this.bindings.push(i),()=>{this.bindings=this.bindings.filter(r=>r!==i)}}press(t){if(t.defaultPrevented||this.dialog?.open)return;let e=t.target;if(e instanceof
HTMLInputElement&&!["checkbox","radio","button","range"].includes(e.type)||e instanceof HTMLSelectElement||e instanceof HTMLTextAreaElement){t.key==="Escape"&&e.
blur();return}if(e instanceof HTMLInputElement&&e.type==="range"&&t.key.startsWith("Arrow"))return;let s=(t.ctrlKey||t.metaKey?"Ctrl+":"")+(t.altKey?"Alt+":"")+
(t.shiftKey&&t.key.length>1?"Shift+":"")+t.key,i=this.bindings.findLast(r=>r.keys.includes(s));i!==void 0&&(t.preventDefault(),i.run(t))}show(){this.dialog??=document.
body.appendChild(a("dialog",{class:"keys-dialog","aria-label":"Keys"}));let t=new Map;for(let e of this.bindings)t.set(e.group,[...t.get(e.group)??[],e]);x(this.
dialog,a("h2",null,"Keys"),a("div",{class:"keys-groups"},...[...t].map(([e,n])=>a("section",null,a("h3",null,e),a("dl",null,...n.flatMap(s=>[a("dt",null,...s.keys.
flatMap((i,r)=>[r>0&&" ",a("kbd",null,i.split("+").map(h=>hs[h]??(h||"+")).join(" + "))])),a("dd",null,s.help)]))))),a("form",{method:"dialog"},a("button",{class:"\
button"},"Close"))),this.dialog.showModal()}};function pn(o){let t=Object.create(null);for(let[e,n]of new URLSearchParams(o.replace(/^#/,"")))e!==""&&n!==""&&(t[e]=n);return t}function N(o){let t=Object.keys(
o).sort((e,n)=>+(n==="tab")-+(e==="tab")||(e<n?-1:1));return"#"+new URLSearchParams(t.map(e=>[e,o[e]])).toString()}function dn(o,t){let e=Object.assign(Object.create(
null),o);for(let[n,s]of Object.entries(t))s==null||s===""?delete e[n]:e[n]=typeof s=="number"?String(Math.round(s)):s;return e}function R(o,t,e){let n=o[t];return n!==
void 0&&/^-?\d{1,15}$/.test(n)?Number(n):e}function P(o,t){let e=Object.create(null);for(let n of["theme","c","run","vs"])o[n]!==void 0&&(e[n]=o[n]);return dn(e,
t)}var At=class{listeners=[];params=pn(location.hash);constructor(){addEventListener("hashchange",()=>this.take(pn(location.hash)))}follow(t){this.listeners.push(
t)}set(t,e="replace"){this.go(dn(this.params,t),e)}go(t,e="push"){let n=N(t);n!==N(this.params)&&(e==="push"?history.pushState(null,"",n):history.replaceState(null,
"",n),this.take(t))}take(t){let e=this.params;this.params=t;for(let n of this.listeners)n(t,e)}};function T(o){let[t,e]=o.split("."),n=t.replace(/\B(?=(\d{3})+$)/g,",");return e===void 0?n:n+"."+e}function ft(o){if(o===0)return"0";let t=Math.floor(Math.log10(
Math.abs(o)));return Math.abs(o)>=Math.pow(10,t+1)*(1-5e-4)&&t++,T(o.toFixed(Math.min(Math.max(2-t,0),20)))}function ps(o,t){let e=t[t.length-1];if(o===0)return"\
0 "+e[1];for(let[n,s]of t)if(Math.abs(o)/n>=.9995)return(n===1&&Number.isInteger(o)?T(String(o)):ft(o/n))+" "+s;return ft(o)+" "+e[1]}function g(o){return ps(o,
[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function cn(o,t){let[e,n]=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]].find(([i])=>Math.abs(o)>=i)??[1,"ns"],s=Math.
min(Math.max(Math.ceil(Math.log10(e/t)-1e-9),0),9);return o===0?"0":T((o/e).toFixed(s))+" "+n}function _(o){return ft(o*100)+" %"}function E(o){return(o>0?"+":"")+g(o)}function K(o,t){if(!(o>0))return[0];let e=o/t,n=Math.pow(10,Math.floor(Math.log10(e))),
s=[1,2,5,10].find(r=>r*n>=e*.999)||10,i=[];for(let r=0;r<=o*1.0001;r+=s*n)i.push(r);return i}function ds(){let{theme:o}=document.documentElement.dataset;return o==="dark"||o!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function V(){let o=getComputedStyle(
document.documentElement),t=ds()?2:1;return e=>/light-dark\(\s*([^,]+?)\s*,\s*([^)]+?)\s*\)/.exec(o.getPropertyValue("--"+e))?.[t]??"#888888"}var xe=[];var I=class{constructor(t,e,n={}){this.height=e;this.canvas=typeof t=="string"?document.getElementById(t):t,this.left=n.left??58,this.bottom=n.bottom??22,this.canvas.
style.height=e+"px",xe.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.width||this.draw())),this.sizes.observe(
this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),xe.splice(xe.indexOf(this),1)}area(){return{x:this.left,y:6,w:Math.
max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let t=this.canvas.clientWidth,e=window.devicePixelRatio||1;if(t===0)return;this.
width=t,this.canvas.width=Math.round(t*e),this.canvas.height=Math.round(this.height*e);let n=this.pen();n&&(this.paint(n),this.ground??=document.createElement("\
canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.mark(n),this.canvas.
dataset.drawn="1")}again(){let t=this.pen();if(!t||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();t.ctx.setTransform(1,0,0,1,0,0),t.ctx.clearRect(
0,0,this.canvas.width,this.canvas.height),t.ctx.drawImage(this.ground,0,0),this.mark({...t,ctx:this.sharp(t.ctx)})}sharp(t){let e=window.devicePixelRatio||1;return t.
setTransform(e,0,0,e,0,0),t}pen(){let t=this.canvas.getContext("2d");return t?(this.sharp(t).font="11px system-ui, sans-serif",{ctx:t,area:this.area(),color:V()}):
null}paint(t){}mark(t){}yAxis({ctx:t,area:e,color:n},s,i){t.textAlign="right",t.textBaseline="middle";for(let r of K(s,Math.max(e.h/45,2))){let h=e.y+e.h*(1-r/s);
t.fillStyle=n("line"),t.fillRect(e.x,Math.round(h),e.w,1),t.fillStyle=n("soft"),t.fillText(i(r),e.x-6,h)}}};function un(){let o=document.getElementById("tip");if(o)
return o;let t=document.createElement("div");return t.id="tip",t.setAttribute("role","status"),document.body.appendChild(t)}function C(o,t,e,n){let s=un(),i=document.
createElement("dl");for(let[f,c]of n.rows){let m=document.createElement("dt"),b=document.createElement("dd");m.textContent=f,b.textContent=c,i.append(m,b)}let r=document.
createElement("strong");r.textContent=n.title,s.replaceChildren(r,i),s.hidden=!1;let h=o.getBoundingClientRect(),l=s.getBoundingClientRect(),p=document.documentElement.
clientWidth,d=h.left+t+14;d+l.width>p-8&&(d=Math.max(h.left+t-14-l.width,4));let u=h.top+e+14;u+l.height>window.innerHeight-4&&(u=Math.max(h.top+e-14-l.height,4)),
s.style.left=d+window.scrollX+"px",s.style.top=u+window.scrollY+"px"}function A(){un().hidden=!0}var nt=class{constructor(t,e=4){this.cols=t;this.least=e;this.hi=
Math.max(t,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(t){this.moved||=t,!this.pending&&(this.pending=requestAnimationFrame(
()=>{let e=this.moved;this.pending=0,this.moved=!1;for(let n of this.plots)e?n.draw():n.again();e&&this.whenMoved()}))}zoom(t,e){let n=Math.min(Math.max(e-t,this.
least),this.cols),s=(t+e)/2;this.lo=Math.min(Math.max(s-n/2,0),this.cols-n),this.hi=this.lo+n,this.changed(!0)}point(t){this.col=t<0?-1:Math.min(t,this.cols-1);
let e=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-e/2,this.col+.5+e/2),this.changed(!1)}};function $(o,t){let e=document.
createElement("span"),n=document.createElement("i");return e.className="key",n.style.background=`var(${o})`,e.append(n,t),e}function st(o){let t=["decode","prefill","mixed","other","idle"].indexOf(o);return"k"+(t<0?3:t)}function B(o,t){let e=o.filter(n=>n>0).sort((n,s)=>n-s);return e.
length?e[Math.floor(t*(e.length-1))]:0}var X=class extends I{constructor(e,n,s,i,r,h=28){super(e,n,{left:r,bottom:h});this.data=s;this.view=i;this.grid=s.grid,i.
plots.push(this),this.listen()}data;view;grid;x(e,n){return n.x+(e-this.view.lo)/(this.view.hi-this.view.lo)*n.w}colAt(e){let n=this.area();return this.view.lo+
(e-n.x)/n.w*(this.view.hi-this.view.lo)}colOf(e){let{first:n,last:s}=this.grid,i=0,r=n.length-1;for(;i<r;){let h=i+r+1>>1;n[h]<=e?i=h:r=h-1}return n.length&&n[i]<=
e&&e<=s[i]?i:-1}stepName(e){let n=this.grid,s=n.kind[e]<0?"several kinds":this.data.kinds[n.kind[e]];return(n.first[e]===n.last[e]?"step "+n.first[e]:`steps ${n.
first[e]}–${n.last[e]}`)+", "+s}xAxis({ctx:e,area:n,color:s}){let i=this.grid,r=this.view,h=n.y+n.h,l=Math.max(Math.floor(r.lo),0),p=Math.min(Math.ceil(r.hi),
i.cols);if(this.data.kinds.length>1)for(let m=l;m<p;m++){let b=Math.max(this.x(m,n),n.x),v=Math.min(this.x(m+1,n),n.x+n.w);e.fillStyle=s(i.kind[m]<0?"k4":st(this.
data.kinds[i.kind[m]])),e.fillRect(b,h+3,Math.max(v-b-(v-b>3?1:0),.5),4)}e.textAlign="center",e.textBaseline="top",e.fillStyle=s("soft");let d=(p-l)*i.bucket,u=K(
d,Math.max(n.w/70,2)),f=Math.max(Math.round(u.length>1?u[1]:1),1),c=-1/0;for(let m=l;m<p;m++){let b=Math.ceil(i.first[m]/f)*f,v=this.x(m+(i.bucket===1?.5:(b-i.first[m])/
i.bucket),n);b>i.last[m]||v-c<30||v<n.x||v>n.x+n.w||(e.fillText(String(b),v,h+10),c=v)}}mark({ctx:e,area:n,color:s}){let i=this.view.col;if(i<this.view.lo-1||i>
this.view.hi)return;let r=Math.max(this.x(i,n),n.x),h=Math.min(this.x(i+1,n),n.x+n.w);i<0||h<=r||(e.strokeStyle=s("mark"),e.globalAlpha=.7,e.strokeRect(r+.5,n.y+
.5,Math.max(h-r-1,1),n.h-1),e.globalAlpha=1)}tip(e,n){return null}tipAt(e,n){return null}rowAt(e){return 0}rows(){return 1}point(e,n,s,i){this.rows()>1&&(this.view.
row=n),this.view.point(e);let r=s!==void 0&&i!==void 0&&this.tipAt(s,i)||this.tip(this.view.col,n),h=this.area();if(!r)return A();C(this.canvas,s??this.x(this.view.
col+.5,h),i??h.y+h.h*(n+.5)/this.rows(),r)}onpick=null;listen(){let e=this.canvas,n=this.view,s=NaN;e.addEventListener("pointerdown",i=>{s=i.offsetX}),e.addEventListener(
"pointermove",i=>{let r=Math.floor(this.colAt(i.offsetX));if(r<0||r>=this.grid.cols||i.offsetX<this.left)return this.leave();this.point(r,this.rowAt(i.offsetY),
i.offsetX,i.offsetY)}),e.addEventListener("pointerup",i=>{if(Math.abs(i.offsetX-s)>8){let r=this.colAt(s),h=this.colAt(i.offsetX);n.zoom(Math.min(r,h),Math.max(
r,h))}else n.col>=0&&this.onpick?.(n.col,this.rowAt(i.offsetY));s=NaN}),e.addEventListener("pointerleave",()=>this.leave()),e.addEventListener("blur",()=>this.leave()),
e.addEventListener("dblclick",()=>n.zoom(0,n.cols)),e.addEventListener("keydown",i=>{this.key(i.key,i.shiftKey)&&i.preventDefault()})}leave(){A(),this.view.point(
-1)}key(e,n){let s=this.view,i=s.col<0?Math.floor(s.lo):s.col,r=s.col<0?(s.lo+s.hi)/2:s.col+.5,h=(s.hi-s.lo)/2,l=n?10:1,p=this.rows()>1?s.row:0;switch(e){case"A\
rrowLeft":return this.point(Math.max(i-l,0),p),!0;case"ArrowRight":return this.point(Math.min(s.col<0?i:i+l,s.cols-1),p),!0;case"ArrowUp":case"ArrowDown":return this.
rows()<2?!1:(this.point(i,Math.min(Math.max(s.row+(e==="ArrowUp"?-l:l),0),this.rows()-1)),!0);case"Home":return this.point(0,p),!0;case"End":return this.point(s.
cols-1,p),!0;case"+":case"=":return s.zoom(r-h/2,r+h/2),!0;case"-":return s.zoom(r-h*2,r+h*2),!0;case"Enter":return!this.onpick||s.col<0?!1:(this.onpick(s.col,p),
!0);case"Escape":return this.leave(),s.zoom(0,s.cols),!0}return!1}};var Lt=class extends X{rank=-1;share=!1;values=[];constructor(t,e,n="bars"){super(n,240,t,e),this.pick(-1)}pick(t){let e=this.grid,n=this.data.ranks.length;this.
rank=t,this.values=e.parts.map(({ns:s})=>{if(t>=0)return s.slice(t*e.cols,(t+1)*e.cols);let i=new Array(e.cols).fill(-1);for(let r=0;r<e.cols;r++){let h=0,l=0;for(let p=0;p<
n;p++){let d=s[p*e.cols+r];d>=0&&(h+=d,l++)}l&&(i[r]=h/l)}return i})}total(t){return this.values.reduce((e,n)=>e+Math.max(n[t],0),0)}paint(t){let{ctx:e,area:n,color:s}=t,
i=this.view,r=Math.max(Math.floor(i.lo),0),h=Math.min(Math.ceil(i.hi),this.grid.cols),l=[];for(let m=r;m<h;m++)l.push(this.total(m));let p=Math.max(...l,1),d=B(
l,.9),u=this.share?1:p>3*d&&d>0?d*1.3:p*1.05;this.yAxis(t,u,this.share?_:g),cs("bars",!this.share&&p>u?p:0);let f=this.grid.parts.map(m=>s(m.name)),c=n.w/(i.hi-
i.lo)>=5?1:0;for(let m=r;m<h;m++){let b=Math.max(this.x(m,n),n.x),v=Math.min(this.x(m+1,n),n.x+n.w),w=l[m-r],y=0;for(let k=0;k<this.values.length;k++){let S=Math.
max(this.values[k][m],0)/(this.share&&w||1),H=Math.min(y+S,u);H>y&&(e.fillStyle=f[k],e.fillRect(b,n.y+n.h*(1-H/u),Math.max(v-b-c,.6),n.h*(H-y)/u)),y=H}if(!this.
share&&w>u){let k=(b+v-c)/2;e.fillStyle=s("mark"),e.beginPath(),e.moveTo(k-4,n.y+7),e.lineTo(k+4,n.y+7),e.lineTo(k,n.y+1),e.fill()}}this.xAxis(t)}tip(t){let e=this.
rank<0?"mean over ranks":this.data.ranks[this.rank],n=this.total(t),s=[["total",g(Math.round(n))]];return this.grid.parts.forEach((i,r)=>{let h=Math.max(this.values[r][t],
0);h>0&&s.push([Pt(i.name),`${g(Math.round(h))} · ${_(h/(n||1))}`])}),{title:`${this.stepName(t)}, ${e}`,rows:s}}};function cs(o,t){let e=document.getElementById(
"cut-"+o),n=t?`▼ cut: up to ${g(Math.round(t))}`:"";e&&e.textContent!==n&&(e.textContent=n)}function Pt(o){return["compute","transfer","wait","copy"].includes(
o)?o:"idle: "+o}function L(o){return[parseInt(o.slice(1,3),16),parseInt(o.slice(3,5),16),parseInt(o.slice(5,7),16)]}function q(o,t){let e=Math.min(Math.max(t,0),1)*(o.length-1),
n=Math.min(Math.floor(e),o.length-2),s=e-n;return o[n].map((i,r)=>Math.round(i+(o[n+1][r]-i)*s))}function ye(o,t,e){let n=[],s=0;for(let i=0;i<t;i++){let r=[];for(let h=e>
2?1:0;h<e;h++)r.push(Math.abs(o[i*e+h]));for(let h of r)n.push(h);s=Math.max(s,B(r,.9))}return Math.max(s,B(n,.98))}var Ct=class extends X{constructor(e,n,s,i,r,h){
let l=n.ranks.length,p=Math.max(Math.min(Math.floor(240/l),24),4);super(e,l*p+34,n,s,64);this.what=i;this.scale=h;this.values=n.grid[i],this.both=i!=="wait",this.
limit=Math.max(this.usual(),r,1),this.drawScale()}what;scale;values;both;limit;usual(){return ye(this.values,this.rows(),this.grid.cols)}rows(){return this.data.
ranks.length}rowAt(e){let n=this.area();return Math.min(Math.max(Math.floor((e-n.y)/n.h*this.rows()),0),this.rows()-1)}drawScale(){let e=this.scale;if(!e)return;
let n=document.createElement("i");n.style.background=this.both?"linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))":"linear-gradient(\
to right, var(--cold), var(--warm), var(--hot))";let s=this.values.reduce((d,u)=>Math.max(d,u),0),i=this.values.reduce((d,u)=>Math.min(d,u),0),r=this.limit*1.0005,
h=(this.both?"+":"")+g(this.limit),l=this.both?E(-this.limit):"0";e.replaceChildren(i<-r?"≤ "+l:l,n,s>r?"≥ "+h:h);let p=[];s>r&&p.push("up to "+(this.both?E(
s):g(s))),i<-r&&p.push("down to "+E(i)),p.length&&e.append("; cut: "+p.join(", "))}paint(e){let{ctx:n,area:s,color:i}=e,r=this.grid,h=this.view,l=this.rows(),p=[
L(i("cold")),L(i("warm")),L(i("hot"))],d=[L(i("cold")),L(i("under"))],u=i("panel"),f=s.h/l,c=Math.max(Math.floor(h.lo),0),m=Math.min(Math.ceil(h.hi),r.cols),b=s.
w/(h.hi-h.lo)>=5?1:0,v=f>=8?1:0;for(let w=0;w<l;w++)for(let y=c;y<m;y++){let k=w*r.cols+y,S=Math.max(this.x(y,s),s.x),H=Math.min(this.x(y+1,s),s.x+s.w);if(r.parts[0].
ns[k]<0)n.fillStyle=u;else{let j=this.values[k]/this.limit,[ut,ue,_t]=j<0?q(d,-j):q(p,j);n.fillStyle=`rgb(${ut},${ue},${_t})`}n.fillRect(S,s.y+w*f,Math.max(H-S-
b,.6),Math.max(f-v,1))}this.labels(e,f),this.xAxis(e),this.outline(e,f)}labels({ctx:e,area:n,color:s},i){e.textAlign="right",e.textBaseline="middle";let r=Math.
ceil(12/i),h=new Set(this.data.findings.flatMap(l=>l.kind==="straggler"?l.ranks:[]));this.data.ranks.forEach((l,p)=>{if(p%r!==0&&!h.has(p)||p%r===0&&r>1&&[...h].
some(u=>u!==p&&Math.abs(u-p)<r))return;e.fillStyle=s(h.has(p)?"text":"soft");let d=l.length>9?l.slice(0,8)+"…":l;e.fillText(d,n.x-6,n.y+(p+.5)*i)})}outline({ctx:e,
area:n,color:s},i){e.save(),e.beginPath(),e.rect(n.x-2,n.y-2,n.w+4,n.h+4),e.clip(),e.strokeStyle=s("mark"),e.lineWidth=1.5;for(let r of this.data.findings){if(r.
kind!=="straggler"||r.first<0||this.what==="work"&&r.cause==="host"||this.what==="host"&&r.cause!=="host")continue;let h=this.colOf(r.first),l=this.colOf(r.last);
if(h<0)continue;let p=this.x(h,n),d=this.x((l<0?this.grid.cols-1:l)+1,n);for(let u of r.ranks)e.strokeRect(p-.5,n.y+u*i-.5,d-p,i)}e.restore()}mark({ctx:e,area:n,
color:s}){let i=n.h/this.rows(),r=this.view.col;r<0||r+1<this.view.lo||r>this.view.hi||(e.strokeStyle=s("mark"),e.globalAlpha=.45,e.strokeRect(this.x(r,n),n.y,Math.
max(this.x(r+1,n)-this.x(r,n),1),n.h),e.globalAlpha=1,e.lineWidth=2,e.strokeRect(this.x(r,n),n.y+this.view.row*i,Math.max(this.x(r+1,n)-this.x(r,n)-1,1),i-1),e.
lineWidth=1)}tip(e,n){let s=this.grid,i=n*s.cols+e,r=`${this.data.ranks[n]}, ${this.stepName(e)}`;if(s.parts[0].ns[i]<0)return{title:r,rows:[["this rank lacks t\
he step",""]]};let h=s.parts[0].ns[i];return{title:r,rows:[["own work",g(h)],["beyond the median rank",E(s.work[i])],["host gap beyond the median",E(s.host[i])],
["waited",g(s.wait[i])],...s.batch[e]>=0?[["batch",String(s.batch[e])]]:[],...s.tokens[e]>=0?[["tokens",String(s.tokens[e])]]:[]]}}};function mn(o,t){let{parts:e}=o.
grid,n=e[0].ns.length;if(t==="work")return B(e[0].ns,.5)*.1;let s=[];for(let i=0;i<n;i++)s.push(e.reduce((r,h)=>r+Math.max(h.ns[i],0),0));return B(s,.5)*.1}var it=[["work","own work beyond the median rank"],["host","host gap beyond the median rank"],["wait","waiting for other ranks"]];function ke(o){return{tab:"tim\
eline",step:o.step,rank:o.rank,t0:o.t0,t1:o.t1}}var Me=class{constructor(t){this.context=t;let{keys:e,store:n}=t,s=i=>{let r=this.overview?.findings.length??0;r>
0&&n.set({sel:Math.min(Math.max(R(n.params,"sel",-1)+i,0),r-1)})};e.bind("j ArrowDown","Summary","next finding",()=>s(1)),e.bind("k ArrowUp","Summary","finding \
before",()=>s(-1)),e.bind("Enter","Summary","show the finding in the timeline",()=>{let i=this.overview?.findings[R(n.params,"sel",-1)]?.at;i&&n.go(P(n.params,ke(
i)))}),e.bind("m","Summary","next measure of the map",()=>{let i=it.findIndex(([r])=>r===this.measure());n.set({map:it[(i+1)%it.length][0]})}),M("summary",{c:n.
params.c}).then(i=>{this.overview=i,this.show(i)})}context;el=a("div",{class:"summary"});plots=[];steps=null;map=null;overview=null;measure(){let t=this.context.
store.params.map;return it.some(([e])=>e===t)?t:"work"}link(t,...e){return a("a",{href:N(P(this.context.store.params,t))},...e)}show(t){let e=t.chart.grid.cols>
0;x(this.el,a("section",{class:"answer-line"},t.verdict!==""&&a("p",{class:"verdict"},t.verdict),a("p",{class:"facts"},t.head.join(" · ")),t.caveat!==""&&a("p",
{class:"caveat"},a("strong",null,"Incomplete: "),t.caveat)),a("section",{class:"found","aria-label":"Findings"},a("h2",null,"Findings"),...t.findings.map((n,s)=>this.
finding(t,n,s)),t.findings.length===0&&a("p",{class:"soft"},"Nothing stands out."),...t.says.map(n=>a("p",{class:"note"},n))),a("div",{class:"seen"},a("section",
{"aria-label":"Where the time goes"},this.times(t)),e&&a("section",{"aria-label":"Steps"},...this.strips(t))),t.left_out.length>0&&a("details",{class:"left"},a(
"summary",null,"What this view leaves out"),a("ul",null,...t.left_out.map(n=>a("li",null,n))))),this.plot(t),this.select()}finding(t,e,n){let i=e.evidence.map(r=>a(
"li",null,r.text,r.short!==""&&a("code",{title:r.name},r.short),r.name!==""&&!r.name.includes(`
`)&&this.link({tab:"kernels",q:r.name},"kernel"),r.at&&this.link(ke(r.at),"step "+r.at.step)));return a("article",{class:"finding sev-"+e.severity,data:{finding:String(
n)},on:{click:()=>this.context.store.set({sel:n})}},a("header",null,a("span",{class:"severity"},e.severity),a("span",{class:"cost"},e.cost)),a("h3",null,e.title),
a("p",{class:"chips"},...e.ranks.slice(0,6).map(r=>a("span",{class:"chip"},t.chart.ranks[r]??"#"+r)),e.ranks.length>6&&a("span",{class:"chip"},`and ${e.ranks.length-
6} more`),e.steps!==""&&a("span",{class:"chip"},e.steps),e.cause!==""&&a("span",{class:"chip"},"cause: "+e.cause),e.passing&&a("span",{class:"chip"},"transient"),
a("span",{class:"space"}),e.at&&a("span",{class:"go"},this.link(ke(e.at),"Show in the timeline"))),i.length>0&&a("ul",{class:"evidence"},...i.slice(0,3)),i.length>
3&&a("details",null,a("summary",null,`and ${i.length-3} more`),a("ul",{class:"evidence"},...i.slice(3))),(e.next.length>0||e.guide!=="")&&a("ul",{class:"next"},
...e.next.map(r=>a("li",null,r)),e.guide!==""&&a("li",null,"More on this: ",a("code",null,"stepscope guide "+e.guide))))}times(t){let e=[...new Set(t.times.map(
l=>l.kind))],n=e.includes(this.context.store.params.kind??"")?this.context.store.params.kind:e.includes("all")?"all":e[0],s=t.times.filter(l=>l.kind===n&&(l.rank>=
0||t.chart.ranks.length>1)),i=t.parts.filter((l,p)=>s.some(d=>d.parts[p]>0)),r=Math.max(...s.map(l=>l.per_step_ns),1),h=a("select",{"aria-label":"Steps of kind",
on:{change:()=>this.context.store.set({kind:h.value==="all"?null:h.value})}},...e.map(l=>a("option",{value:l,selected:l===n},l==="all"?"all steps":l)));return a(
"div",{class:"times"},a("h2",null,"Where the time goes",a("span",{class:"space"}),e.length>2&&h),a("div",{class:"split",role:"table","aria-label":"Time of a mea\
n step by rank"},...s.map(l=>a("div",{role:"row",class:l.rank<0?"all":""},a("span",{role:"rowheader"},l.rank<0?"all ranks":t.chart.ranks[l.rank]??"#"+l.rank),a(
"span",{role:"cell",class:"track"},this.split(t,l,r)),a("span",{role:"cell",class:"number"},g(l.per_step_ns))))),a("p",{class:"keys"},...i.map(l=>$("--"+l,Pt(l)))))}split(t,e,n){
let s=t.parts.map((r,h)=>[r,e.parts[h]]).filter(([,r])=>r>0).map(([r,h])=>`${Pt(r)} ${_(h/e.total_ns)}`).join(", "),i=a("span",{class:"bar wide",role:"img","ari\
a-label":s,title:s});i.style.width=e.per_step_ns/n*100+"%";for(let[r,h]of t.parts.entries()){if(!(e.parts[r]>0))continue;let l=i.appendChild(a("i",{class:"s-"+h}));
l.style.width=e.parts[r]/e.total_ns*100+"%"}return i}strips(t){let e=a("span",{class:"tools",role:"group","aria-label":"Measure"},...it.map(([n,s])=>a("button",
{class:"choice","aria-pressed":String(n===this.measure()),data:{measure:n},title:s,on:{click:()=>this.context.store.set({map:n==="work"?null:n})}},n)));return[t.
chart.ranks.length>1&&a("figure",null,a("figcaption",null,a("span",null,"Ranks × steps: ",a("span",{class:"measure"})),a("span",{class:"scale"}),e),a("canvas",
{id:"map",tabindex:"0",role:"img","aria-label":"Heat map, ranks by steps: arrows move, Enter opens the timeline there"})),a("figure",null,a("figcaption",null,a(
"span",null,"Time of each step"),a("span",{class:"scale",id:"cut-bars"})),a("canvas",{id:"bars",tabindex:"0",role:"img","aria-label":"Stacked bars, where the ti\
me of each step goes: arrows move, Enter opens the timeline there"}))]}plot(t){for(let r of this.plots.splice(0))r.drop();if(this.map=null,t.chart.grid.cols===0)
return;let e=this.steps=new nt(t.chart.grid.cols),n=(r,h)=>{let l=t.chart.grid.first[r];this.context.store.go(P(this.context.store.params,{tab:"timeline",step:l,
rank:h,...this.around(t,l)}))},s=this.el.querySelector("#map");s&&this.draw(t,s,n);let i=new Lt(t.chart,e,this.el.querySelector("#bars"));i.onpick=r=>n(r,0),this.
plots.push(i),i.draw()}draw(t,e,n){let s=this.measure(),i=e.cloneNode(!1);e.replaceWith(i),this.map&&(this.steps.plots.splice(this.steps.plots.indexOf(this.map),
1),this.plots.splice(this.plots.indexOf(this.map),1),this.map.drop()),this.map=new Ct(i,t.chart,this.steps,s,mn(t.chart,s),this.el.querySelector("figure .scale")),
this.map.onpick=n,this.plots.push(this.map),this.map.draw(),x(this.el.querySelector(".measure"),it.find(([r])=>r===s)[1]);for(let r of this.el.querySelectorAll(
"[data-measure]"))r.ariaPressed=String(r.dataset.measure===s)}around(t,e){let n=t.chart.lengths,s=n.step.indexOf(e);return s<0?{}:{t0:n.at[s]-n.ns[s]/10,t1:n.at[s]+
n.ns[s]*1.1}}select(){let t=R(this.context.store.params,"sel",-1);for(let n of this.el.querySelectorAll("[data-finding]")){let s=n.dataset.finding===String(t);n.
classList.toggle("selected",s),s&&n.scrollIntoView({block:"nearest"})}let e=this.overview?.findings[t];!this.steps||!this.map||!e?.at||(this.steps.row=e.at.rank,
this.steps.point(this.map.colOf(e.at.step)))}update(t,e){let n=this.overview;if(!n)return;t.kind!==e.kind&&this.el.querySelector(".times")?.replaceWith(this.times(
n));let s=this.el.querySelector("#map");t.map!==e.map&&s&&this.map?.onpick&&this.draw(n,s,this.map.onpick),this.select()}restyle(){for(let t of this.plots)t.draw()}close(){
for(let t of this.plots.splice(0))t.drop()}},Se={id:"summary",title:"Summary",needs:"capture",open:o=>new Me(o)};function gt(o,t){let e=(o.t1-o.t0)/Math.max(t,1);return Math.min(Math.max(Math.ceil(Math.log2(e)),0),40)}function qt(o,t){let e=512*2**t;return[Math.floor(o.t0/
e),Math.max(Math.ceil(o.t1/e)-1,Math.floor(o.t0/e))]}function rt(o,t){let e=Math.max(t.t1-t.t0,50),n=Math.min(Math.max(o.t1-o.t0,50),e*1.5),i=(o.t0+o.t1)/2-n/2;
return n>=e*1.04?i=(t.t0+t.t1)/2-n/2:i=Math.min(Math.max(i,t.t0-n*.5),t.t1-n*.5),{t0:i,t1:i+n}}function bt(o){let t=(o.t1-o.t0)*.01;return{t0:o.t0-t,t1:o.t1+t}}
function fn(o,t,e,n){let s=o.t1-o.t0,i=Math.max(n.t1-n.t0,50)*1.5,r=Math.min(Math.max(s*e,50),Math.max(i,s))/s;return rt({t0:t-(t-o.t0)*r,t1:t+(o.t1-t)*r},n)}function Te(o,t,e){
let n=(o.t1-o.t0)*t;return rt({t0:o.t0+n,t1:o.t1+n},e)}function Nt(o,t,e,n,s=!1){let i=o.t1-o.t0;if(!s&&t>=o.t0+i*.02&&t+e<=o.t1-i*.02&&e>i/400)return o;let r=s||
e>i||e<i/400?Math.max(e*(s?1.6:24),50):i,h=t+e/2;return rt({t0:h-r/2,t1:h+r/2},n)}function gn(o,t,e){let n=(o.t1-o.t0)*e/Math.max(t,1),s=10**Math.floor(Math.log10(
n)),i=Math.max(([1,2,5,10].find(r=>r*s>=n*.999)??10)*s,1);return{step:i,first:Math.ceil(o.t0/i)*i}}var Ht=[{by:"wall",title:"wall clock",help:"as the clocks of the ranks say"},{by:"step",title:"step start",help:"each rank is moved so that one step begins at t\
he same place on all"},{by:"collective",title:"collective entry",help:"each rank is moved so that all come to one collective at the same place"},{by:"stretched",
title:"stretched",help:"between collectives each rank's time is stretched to that of the last one to come"}];function bn(o,t,e){let n=R(o,t,NaN),s=R(o,e,NaN);return n<
s?{t0:n,t1:s}:null}function at(o,t,e){let n=1/0,s=-1/0;for(let i=t;i<=e;i++){let r=o.steps[i];r===void 0||r.end_ns===0||(n=Math.min(n,r.start_ns),s=Math.max(s,r.
end_ns))}return n<s?rt({t0:n-(s-n)*.06,t1:s+(s-n)*.06},vt(o)):null}function vt(o){return{t0:o.from_ns,t1:Math.max(o.to_ns,o.from_ns+1)}}function _e(o,t){let e=R(
o,"step",-1),n=R(o,"rank",-1),s=bn(o,"t0","t1"),i=Ht.some(l=>l.by===o.align)?o.align:"wall",r=l=>Number.isInteger(l)&&l>=0&&l<t.ranks.length,h=(o.only??"").split(
",").filter(l=>/^\d+$/.test(l)).map(Number).filter(r);return{view:s!==null?rt(s,vt(t)):at(t,e,e)??bt(vt(t)),step:e<t.steps.length?e:-1,by:i==="stretched"&&!t.stretch||
i==="step"&&(e<0||e>=t.steps.length)?"wall":i,at:R(o,"at",0),only:[...new Set(h)],open:new Set((o.open??"").split(",").filter(l=>/^r?\d+$/.test(l))),rank:r(n)?n:
-1,sel:r(n)?R(o,"sel",-1):-1,range:bn(o,"r0","r1"),q:o.q??"",heat:o.heat??(t.ranks.length>1&&t.steps.length>1?"work":"off"),y:Math.max(R(o,"y",0),0),sort:o.sort??
"-self"}}function Re(o,t){return o.role==="launches"||o.role==="thread"||o.role==="python"?Math.min(o.lanes,t<=2?6:t<=4?4:t<=8?2:1):Math.min(o.lanes,2)}function $t(o,t,e){
let n=[],s=[],i=e.length>0?e:o.ranks.map((l,p)=>p),r=new Map;o.rows.forEach((l,p)=>r.set(l.rank,[...r.get(l.rank)??[],p]));let h=0;for(let l of i){let p={rank:l,
y:h,height:0,rows:[],folded:0,open:t.has("r"+l)};h+=18;for(let d of r.get(l)??[]){let u=o.rows[d];if(!u.pinned&&!p.open){p.folded++;continue}let f=t.has(String(
d))?u.lanes:Re(u,i.length);p.rows.push({row:d,y:h,height:f*16,lanes:f});for(let c=0;c<f;c++)s.push({lane:u.lane+c,row:d,rank:l,y:h+c*16,height:15});h+=f*16+3}h+=
8,p.height=h-p.y,n.push(p)}return{groups:n,lanes:s,height:h}}function Ee(o,t,e){let n=0,s=o.length;for(;n<s;){let r=n+s>>1;o[r].y+o[r].height<=t?n=r+1:s=r}let i=[];
for(let r=n;r<o.length&&o[r].y<e;r++)i.push(o[r]);return i}function vn(o,t){let e=new Set(o);return e.delete(t)||e.add(t),e}var us={compute:"compute",communication:"communication",launches:"launches",ranges:"ranges of",python:"Python of",profiler:"profiler"};function wn(o,t,e,n,s,i){
let r=[],h=(l,p)=>{l.style.top=p+"px",r.push(l)};for(let l of e.groups){let p=s!==null&&s.by!=="wall"&&s.by!=="stretched"?s.moved_ns[l.rank]:0,d=s!==null&&s.by!==
"wall"&&s.by!=="stretched"&&!s.known[l.rank]?"not moved":p!==0?"moved "+E(p):"",u=l.folded>0||l.open;h(a("div",{class:"tl-rank"+(l.rank===n?" here":"")},a("span",
null,t.ranks[l.rank]),u&&a("button",{"aria-expanded":String(l.open),"aria-label":(l.open?"Fold rows of ":"Unfold all rows of ")+t.ranks[l.rank],on:{click:()=>i(
"r"+l.rank)}},l.open?"▾ fewer":`▸ ${l.folded} more`),d!==""&&a("span",{class:"moved"},d)),l.y);for(let f of l.rows){let c=t.rows[f.row],m=us[c.role],b=c.lanes>
Re(c,e.groups.length),v=[m!==void 0&&a("b",null,m),(m!==void 0?" ":"")+c.name,c.deeper>0&&` (${c.deeper} spans lie deeper)`],w=`${t.ranks[c.rank]}: ${m??""} ${c.
name}, ${c.spans} spans in ${c.lanes} lane${c.lanes===1?"":"s"}`,y=a("div",{class:"tl-row",title:w},b?a("button",{"aria-expanded":String(f.lanes===c.lanes),on:{
click:()=>i(String(f.row))}},f.lanes===c.lanes?"▾ ":"▸ ",...v):a("span",null,...v));y.style.height=f.height+"px",h(y,f.y)}}x(o,...r)}function xn(o,t,e,n,s,i,r,h){
let l=window.devicePixelRatio||1,p=o.getContext("2d");o.width=Math.round(n*l),o.height=Math.round(s*l),p.setTransform(l,0,0,l,0,0),p.fillStyle=h;for(let d of t.
groups){let u=d.y-e,f=i.get(d.rank);if(f===void 0||u>s||u+18<0)continue;let c=n/f.length;f.forEach((m,b)=>{let v=Math.min(Math.abs(m)/Math.max(r,1),1)*13;v>.5&&
p.fillRect(b*c,u+18-3-v,Math.max(c,1),v)})}}function ms(o,t,e,n,s){let i=new Float32Array(o),r=i.subarray(0,e*n),h=i.subarray(e*n,(e+1)*n),l=new Float32Array(r.length);for(let d=0;d<r.length;d++)l[d]=t.beyond?
r[d]-h[d%n]:r[d];let p=t.unit!=="ns"?1:t.id==="work"?B(Array.from(r),.5)*.1:s*.1;return{measure:t,values:r,median:h,shown:l,limit:Math.max(ye(l,e,n),p,1)}}function fs(o,t,e,n,s){
let i=new Float32Array(n*s).fill(NaN);for(let r=0;r<t;r++){let h=Math.floor(r*n/t);for(let l=0;l<e;l++){let p=o[r*e+l],d=h*s+Math.floor(l*s/e);!Number.isNaN(p)&&
!(Math.abs(i[d])>=Math.abs(p))&&(i[d]=p)}}return i}function yn(o,t,e,n){let s=[];for(let i=0;i<t;i++)Number.isNaN(o[i*e+n])||s.push([o[i*e+n],i]);return s.sort(
(i,r)=>i[0]-r[0]||i[1]-r[1]),s.length>0?s[s.length-1>>1][1]:-1}var F=200,Le=16,Ot=class{constructor(t,e,n){this.head=t;this.events=e;this.redraw=n;this.ranks=t.
ranks.length,this.steps=t.steps.length,this.length=B(t.steps.map(s=>s.end_ns-s.start_ns),.5),this.el=a("div",{class:"tl-heat"},a("div",{class:"tl-heat-head"},a(
"span",{class:"tl-title"},"Ranks × steps"),this.choices,a("span",{class:"space"}),this.scale),a("div",{class:"tl-map"},this.canvas,this.brushed,this.box)),this.
listen()}head;events;redraw;el;canvas=a("canvas",{tabindex:"0",role:"img"});box=a("div",{class:"tl-cell"});brushed=a("div",{class:"tl-brush",hidden:!0});scale=a(
"span",{class:"scale"});choices=a("span",{role:"group","aria-label":"Measure of the map"});ranks;steps;length;asked="";cells=null;at=null;shownSteps=[-1,-1];get measure(){
return this.asked}async show(t){let e=this.head.measures.find(s=>s.id===t);if(this.el.hidden=e===void 0||this.steps===0,x(this.choices,...this.head.measures.map(
s=>a("button",{class:"choice","aria-pressed":String(s.id===t),on:{click:()=>this.events.choose(s.id)}},s.title))),this.el.hidden||e===void 0||t===this.asked)return;
this.asked=t;let n=await this.events.load(t);this.asked===t&&(this.cells=ms(n,e,this.ranks,this.steps,this.length),this.redraw())}view(t,e){this.shownSteps=[t,e],
this.place(this.brushed,t<0||t===0&&e===this.steps-1?null:{rank:0,ranks:this.ranks,step:t,steps:e-t+1})}height(){return Math.min(Math.max(this.ranks*Math.min(Math.
max(Math.floor(120/this.ranks),3),18),36),256)}area(){return{x:F,w:Math.max(this.canvas.clientWidth-F-8,10),h:this.height()}}place(t,e){if(t.hidden=e===null,e===
null)return;let n=this.area();t.style.left=n.x+e.step/this.steps*n.w-1+"px",t.style.width=Math.max(e.steps/this.steps*n.w,2)+1+"px",t.style.top=e.rank/this.ranks*
n.h-1+"px",t.style.height=Math.max(e.ranks/this.ranks*n.h,2)+1+"px"}paint(t){if(this.el.hidden)return;let e=this.height();this.canvas.style.height=e+Le+"px";let n=this.
canvas.clientWidth,s=window.devicePixelRatio||1;if(n===0)return;this.canvas.width=Math.round(n*s),this.canvas.height=Math.round((e+Le)*s);let i=this.canvas.getContext(
"2d",{alpha:!1});i.setTransform(s,0,0,s,0,0),i.fillStyle=t.name("bg"),i.fillRect(0,0,n,e+Le),i.font="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-ser\
if",this.labels(i,t),this.cells!==null&&this.map(i,t,this.cells),this.view(...this.shownSteps)}labels(t,e){let n=this.area(),s=n.h/this.ranks,i=Math.ceil(12/s);
t.fillStyle=e.name("soft"),t.textAlign="right",t.textBaseline="middle";for(let p=0;p<this.ranks;p+=i)t.fillText(this.head.ranks[p],n.x-8,(p+.5)*s,n.x-20);t.textBaseline=
"top",t.textAlign="center";let r=Math.max(Math.ceil(this.steps*44/n.w),1),h=10**Math.floor(Math.log10(r)),l=[1,2,5,10].map(p=>p*h).find(p=>p>=r)??r;for(let p=0;p<
this.steps;p+=l)t.fillText(String(p),n.x+(p+.5)/this.steps*n.w,n.h+4)}map(t,e,n){let s=this.area(),i=Math.min(this.ranks,s.h),r=Math.min(this.steps,Math.floor(s.
w)),h=fs(n.shown,this.ranks,this.steps,i,r),l=v=>L(e.name(v)),p=[l("cold"),l("warm"),l("hot")],d=[l("cold"),l("under")],u=t.createImageData(r,i),f=l("panel");for(let v=0;v<
h.length;v++){let w=h[v]/n.limit,[y,k,S]=Number.isNaN(w)?f:w<0?q(d,-w):q(p,w);u.data.set([y,k,S,255],4*v)}let c=document.createElement("canvas");if(c.width=r,c.
height=i,c.getContext("2d").putImageData(u,0,0),t.imageSmoothingEnabled=!1,t.drawImage(c,s.x,0,s.w,s.h),t.fillStyle=e.name("bg"),s.w/r>=6)for(let v=1;v<r;v++)t.
fillRect(s.x+Math.round(v/r*s.w)-1,0,1,s.h);if(s.h/i>=8)for(let v=1;v<i;v++)t.fillRect(s.x,Math.round(v/i*s.h)-1,s.w,1);let m=v=>this.text(v,n.measure),b=a("i",
null);b.style.background=n.measure.beyond?"linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))":"linear-gradient(to right, var(--cold)\
, var(--warm), var(--hot))",x(this.scale,n.measure.beyond?`${m(-n.limit)} `:"0 ",b,` ${n.measure.beyond?"+":""}${m(n.limit)}${n.measure.beyond?" beyond the medi\
an rank":""}`),this.canvas.setAttribute("aria-label",`Heat map of ${n.measure.title}, ${this.ranks} ranks by ${this.steps} steps: arrows move, Enter opens the s\
tep`)}text(t,e){return e.unit==="ns"?g(Math.round(t)):T(String(Math.round(t)))}cellAt(t,e){let n=this.area(),s=Math.floor((t-n.x)/n.w*this.steps),i=Math.floor(e/
n.h*this.ranks);return s>=0&&s<this.steps&&i>=0&&i<this.ranks?{rank:i,step:s}:null}point(t){this.at=t,this.place(this.box,t&&{rank:t.rank,ranks:1,step:t.step,steps:1});
let e=this.cells;if(t===null||e===null)return A();let n=e.values[t.rank*this.steps+t.step],s=e.measure,i=this.head.steps[t.step],r=this.area();C(this.canvas,r.x+
(t.step+.5)/this.steps*r.w,(t.rank+.5)/this.ranks*r.h,{title:`${this.head.ranks[t.rank]}, step ${t.step}, ${i.kind}`,rows:Number.isNaN(n)?[["this rank lacks the\
 step",""]]:[[s.title,this.text(n,s)],["median rank",this.text(e.median[t.step],s)],["beyond it",s.unit==="ns"?E(Math.round(n-e.median[t.step])):this.text(n-e.median[t.
step],s)]]})}listen(){let t=this.canvas,e=null;t.addEventListener("pointerdown",n=>{e=n.offsetX,t.setPointerCapture(n.pointerId)}),t.addEventListener("pointermo\
ve",n=>{let s=this.cellAt(n.offsetX,n.offsetY);if(this.point(s),e===null||Math.abs(n.offsetX-e)<6)return;let i=this.cellAt(Math.min(Math.max(e,F),F+this.area().
w-1),0),r=this.cellAt(Math.min(Math.max(n.offsetX,F),F+this.area().w-1),0);i!==null&&r!==null&&this.place(this.brushed,{rank:0,ranks:this.ranks,step:Math.min(i.
step,r.step),steps:Math.abs(i.step-r.step)+1})}),t.addEventListener("pointerup",n=>{let s=Math.min(Math.max(n.offsetX,F),F+this.area().w-1),i=e===null?null:this.
cellAt(Math.min(Math.max(e,F),F+this.area().w-1),0),r=this.cellAt(s,0);if(e!==null&&Math.abs(n.offsetX-e)>=6&&i!==null&&r!==null)this.events.brush(Math.min(i.step,
r.step),Math.max(i.step,r.step));else{let h=this.cellAt(n.offsetX,n.offsetY);h!==null&&this.events.pick(h.rank,h.step)}e=null}),t.addEventListener("pointerleave",
()=>this.point(null)),t.addEventListener("blur",()=>this.point(null)),t.addEventListener("keydown",n=>{let s=this.at??{rank:0,step:Math.max(this.shownSteps[0],0)},
i={ArrowLeft:{...s,step:Math.max(s.step-1,0)},ArrowRight:{...s,step:this.at===null?s.step:Math.min(s.step+1,this.steps-1)},ArrowUp:{...s,rank:Math.max(s.rank-1,
0)},ArrowDown:{...s,rank:this.at===null?s.rank:Math.min(s.rank+1,this.ranks-1)}};if(i[n.key]!==void 0)this.point(i[n.key]);else if(n.key==="Enter"&&this.at!==null)
this.events.pick(this.at.rank,this.at.step);else if(n.key==="Escape")t.blur();else return;n.preventDefault()})}};function Pe(o){return 2**Math.max(0,o-22)}var zt=new Uint32Array(0),kn=new Uint8Array(0);function Mn(o,t){let e=new DataView(o);if(o.byteLength<32||e.getUint32(
0,!1)!==1397969996||e.getUint16(4,!0)!==1)throw new Error("these are no tiles of this version");if(e.getUint32(8,!0)!==t)throw new Error("the server shows anoth\
er capture now: load the page again");let n=e.getUint32(12,!0),s=[];for(let i=0;i<n;i++){let r=32+16*i,h=e.getUint32(r+8,!0),l=e.getUint32(r+12,!0),p=h===0?16:16+
3*512+(18*l+7&-8),d={lane:e.getUint32(r,!0),index:e.getInt32(r+4,!0),bytes:p,strip:null,pieces:l,start:zt,width:zt,span:zt,name:zt,class:kn,flags:kn};if(h!==0){
let u=o.slice(h,h+p-16);d.strip={class:new Uint8Array(u,0,512),covered:new Uint8Array(u,512,512),waited:new Uint8Array(u,2*512,512)};let f=c=>new Uint32Array(u,
3*512+4*l*c,l);d.start=f(0),d.width=f(1),d.span=f(2),d.name=f(3),d.class=new Uint8Array(u,3*512+16*l,l),d.flags=new Uint8Array(u,3*512+17*l,l)}s.push(d)}return s}var gs=16,ot=40,It=class{constructor(t,e,n){this.canvas=t;this.tiles=e;this.ctx=t.getContext("2d",{alpha:!1});let s=n.ranks.map((r,h)=>n.rows.find(l=>l.rank===h&&
l.role==="compute")??n.rows.find(l=>l.rank===h)),i=Math.max(Math.ceil(s.length/gs),1);s.forEach((r,h)=>{r!==void 0&&h%i===0&&this.lanes.push(r.lane)})}canvas;tiles;ctx;ground=document.
createElement("canvas");drawn="";lanes=[];needs(t,e){let n=gt(t,e),[s,i]=qt(t,n);return{level:n,needs:this.lanes.map(r=>({lane:r,from:s,to:i}))}}paint(t,e,n,s){
let{ctx:i,canvas:r}=this,h=window.devicePixelRatio||1,{level:l,needs:p}=this.needs(t,n),d=this.tiles.of(l,!1),f=`${p.flatMap(b=>Array.from({length:b.to-b.from+1},
(v,w)=>d(b.lane,b.from+w))).filter(b=>b!==void 0).length} ${n} ${h} ${s.name("bg")} ${t.t0}`;f!==this.drawn&&(this.drawn=f,r.width=this.ground.width=Math.round(
n*h),r.height=this.ground.height=Math.round(ot*h),this.strips(t,s,l,p,d)),i.setTransform(1,0,0,1,0,0),i.drawImage(this.ground,0,0),i.setTransform(h,0,0,h,0,0);let c=(e.
t0-t.t0)/(t.t1-t.t0)*n,m=(e.t1-t.t0)/(t.t1-t.t0)*n;i.fillStyle=s.name("bg"),i.globalAlpha=.6,i.fillRect(0,0,Math.max(c,0),ot),i.fillRect(Math.min(m,n),0,n,ot),i.
globalAlpha=1,i.strokeStyle=s.name("strong"),i.lineWidth=1.5,i.strokeRect(Math.max(c,0)+.75,.75,Math.max(Math.min(m,n)-Math.max(c,0)-1.5,2),ot-1.5)}strips(t,e,n,s,i){
let r=this.ground.getContext("2d",{alpha:!1}),h=this.ground.width,l=this.ground.height,p=r.createImageData(h,l),d=new Uint32Array(p.data.buffer),u=Uint8Array.from(
[1,3,5].map(b=>parseInt(e.name("panel").slice(b,b+2),16))),f=l/Math.max(s.length,1),c=(t.t1-t.t0)/h,m=2**n;for(let b=0;b<s.length;b++){for(let v=0;v<h;v++){let w=Math.
floor((t.t0+(v+.5)*c)/m),y=Math.floor(w/512),k=i(s[b].lane,y)?.strip??null,S=w-y*512,[H,j,ut]=u;if(k!==null&&k.class[S]!==0){let J=(30+k.covered[S]*.8823529411764706)/
255,me=Math.min(k.waited[S]/Math.max(k.covered[S],1),1),[nn,sn,rn]=e.strip[k.class[S]],[as,os,ls]=e.wait;H+=(nn+(as-nn)*me-H)*J,j+=(sn+(os-sn)*me-j)*J,ut+=(rn+(ls-
rn)*me-ut)*J}let ue=255<<24|Math.round(ut)<<16|Math.round(j)<<8|Math.round(H),_t=Math.round(b*f),rs=Math.max(Math.round((b+1)*f)-(f>=4?1:0),_t+1);for(let J=_t;J<
rs;J++)d[J*h+v]=ue}if(f>=4){let v=Math.min(Math.round((b+1)*f)-1,l-1),w=255<<24|u[2]<<16|u[1]<<8|u[0];for(let y=0;y<h;y++)d[v*h+y]=w}}r.putImageData(p,0,0)}};var Bt=class{constructor(t){this.canvas=t;this.ctx=t.getContext("2d")}canvas;ctx;paint(t,e){let{ctx:n}=this,s=window.devicePixelRatio||1,i=Math.round(t.width*s),
r=Math.round(t.height*s);this.canvas.width!==i||this.canvas.height!==r?(this.canvas.width=i,this.canvas.height=r):(n.setTransform(1,0,0,1,0,0),n.clearRect(0,0,i,
r)),n.setTransform(s,0,0,s,0,0);let h=t.palette.name("mark"),l=t.palette.name("strong");if(t.range!==null&&this.shade(t,t.range,l),t.collective!==null&&this.collective(
t,t.collective),this.flows(t,h),this.counterparts(t,l),t.selected!==null&&this.outline(t,t.selected,h,2),e.box!==null){let{x0:p,x1:d,lane:u}=e.box;n.strokeStyle=
h,n.lineWidth=1;let f=Math.max(Math.round(p),-2)+.5,c=Math.min(Math.round(d),t.width+2)-.5;n.strokeRect(f,u.y-t.top+.5,Math.max(c-f,1),u.height-1)}e.x>=0&&(n.fillStyle=
h,n.globalAlpha=.35,n.fillRect(Math.round(e.x),0,1,t.height),n.globalAlpha=1)}x(t,e){return(e-t.view.t0)/(t.view.t1-t.view.t0)*t.width}shade(t,e,n){let{ctx:s}=this,
i=Math.max(this.x(t,e.t0),-1),r=Math.min(this.x(t,e.t1),t.width+1);r<=0||i>=t.width||(s.fillStyle=n,s.globalAlpha=.12,s.fillRect(i,0,r-i,t.height),s.globalAlpha=
.9,s.fillRect(Math.round(i),0,1,t.height),s.fillRect(Math.round(r)-1,0,1,t.height),s.globalAlpha=1)}box(t,e){let n=t.lanes.get(e.lane);if(n===void 0||e.span<0)return null;
let{start:s,end:i}=t.place(e);return{x0:this.x(t,s),x1:this.x(t,i),y:n.y-t.top,h:n.height}}outline(t,e,n,s){let i=this.box(t,e);if(i===null||i.x1<-4||i.x0>t.width+
4)return;let{ctx:r}=this,h=Math.max(i.x0,-4),l=Math.min(Math.max(i.x1,i.x0+2),t.width+4);r.strokeStyle=n,r.lineWidth=s,r.strokeRect(h-s/2,i.y-s/2,l-h+s,i.h+s)}counterparts(t,e){
if(t.selected===null||t.counterparts.length===0)return;let{ctx:n}=this,s=[];for(let i of[...t.counterparts,t.selected].sort((r,h)=>(t.lanes.get(r.lane)?.y??0)-(t.
lanes.get(h.lane)?.y??0))){let r=this.box(t,i);r!==null&&s.push({x:r.x0,y:r.y,h:r.h})}n.strokeStyle=e,n.lineWidth=1.5,n.setLineDash([4,3]),n.beginPath(),s.forEach(
(i,r)=>{r===0||n.lineTo(i.x,i.y),n.moveTo(i.x,i.y+i.h)}),n.stroke(),n.setLineDash([]);for(let i of t.counterparts)this.outline(t,i,e,1.5)}flows(t,e){let{ctx:n}=this;
n.strokeStyle=n.fillStyle=e,n.lineWidth=1.25;for(let[s,i]of t.flows){let r=this.box(t,s),h=this.box(t,i);if(r===null||h===null)continue;let l=r.x1,p=r.y+r.h/2,d=h.
x0,u=h.y+h.h/2,f=Math.max(Math.min(Math.abs(d-l)/2,60),12);n.globalAlpha=.8,n.beginPath(),n.moveTo(l,p),n.bezierCurveTo(l+f,p,d-f,u,d,u),n.stroke(),n.beginPath(),
n.moveTo(d,u),n.lineTo(d-6,u-3.5),n.lineTo(d-6,u+3.5),n.fill(),n.globalAlpha=1}}collective(t,e){let{ctx:n}=this,s=t.palette.name("wait"),i=t.palette.name("commu\
nication"),r=e.map(l=>this.box(t,l)).filter(l=>l!==null).sort((l,p)=>l.y-p.y);if(r.length===0)return;let h=this.x(t,t.last);n.lineWidth=1;for(let l=0;l+1<r.length;l++){
let p=r[l],d=r[l+1];n.globalAlpha=.22,n.fillStyle=s,n.beginPath(),n.moveTo(Math.min(p.x0,h),p.y+p.h),n.lineTo(h,p.y+p.h),n.lineTo(h,d.y),n.lineTo(Math.min(d.x0,
h),d.y),n.fill(),n.fillStyle=i,n.beginPath(),n.moveTo(h,p.y+p.h),n.lineTo(Math.max(p.x1,h),p.y+p.h),n.lineTo(Math.max(d.x1,h),d.y),n.lineTo(h,d.y),n.fill()}n.globalAlpha=
1,n.fillStyle=s,n.fillRect(Math.round(h),r[0].y,1,r[r.length-1].y+r[r.length-1].h-r[0].y)}};function Sn(o){return g(Math.round(o.t1-o.t0))}var Ft=["bg","attention","gemm","moe","norm","elementwise","communication","copy","sampling","other","t-step","t-range","t-op","t-call","t-launch","t-sync","t-p\
ython","t-profiler","t-nocore","t-other"],_n=4,Rn=3,Ce=([o,t,e])=>`rgb(${o},${t},${e})`;function qe([o,t,e]){let n=s=>s<=10?s/255/12.92:((s/255+.055)/1.055)**2.4;
return .2126*n(o)+.7152*n(t)+.0722*n(e)}function Ne(o,t){let e=qe(o),n=qe(t);return(Math.max(e,n)+.05)/(Math.min(e,n)+.05)}function lt(o){return Ne(o,[255,255,255])>=
Ne(o,[17,17,17])?"#ffffff":"#111111"}function Tn(o){let t=lt(o)==="#ffffff"?[0,0,0]:[255,255,255];for(let e=0;;e+=.04){let n=q([o,t],e);if(Ne(n,lt(o)==="#ffffff"?
[255,255,255]:[17,17,17])>=4.5||e>=1)return n}}function He(){let o=V(),t=L(o("bg")),e=qe(t)>.5,n=Tn(L(o("wait"))),s={fill:[],text:[],strip:[],wait:n,waitFill:[Ce(
n),Ce(q([n,t],.3))],waitText:lt(n),name:o};for(let i of Ft){let r=L(o(i)),h=[r,q([r,e?[255,255,255]:[0,0,0]],.16),q([r,e?[0,0,0]:[255,255,255]],.1),q([r,t],.78)].
map(Tn);for(let l of h)s.fill.push(Ce(l)),s.text.push(lt(l));s.strip.push(q([r,t],.18))}return s}var ws=448,En=5e3,An=600,$e=40,Oe=class o{static rows=1024;canvas=document.createElement("canvas");ctx;image;pixels;owner=[];used=[];rowOf=new Map;next=0;constructor(){
this.canvas.width=512,this.canvas.height=o.rows,this.ctx=this.canvas.getContext("2d",{willReadFrequently:!0}),this.image=this.ctx.createImageData(512,1),this.pixels=
new Uint32Array(this.image.data.buffer),this.clear()}clear(){this.owner=new Array(o.rows).fill(null),this.used=new Array(o.rows).fill(-1),this.rowOf.clear()}row(t,e,n){
let s=this.rowOf.get(t)??-1;if(s<0){for(;this.used[this.next]===n;)this.next=(this.next+1)%o.rows;s=this.next,this.next=(this.next+1)%o.rows;let i=this.owner[s];
i!==null&&this.rowOf.delete(i),this.owner[s]=t,this.rowOf.set(t,s),this.draw(t,s,e)}return this.used[s]=n,s}draw(t,e,n){let{strip:s}=t,{pixels:i}=this;if(s===null)
return;let[r,h,l]=n.wait;for(let p=0;p<512;p++){let d=s.covered[p],u=s.class[p];if(u===0){i[p]=0;continue}let f=28+Math.round(d*(227/255)),c=s.waited[p]===0?0:Math.
min(s.waited[p]/Math.max(d,1),1),[m,b,v]=n.strip[u]??n.strip[9];i[p]=f<<24|Math.round(v+(l-v)*c)<<16|Math.round(b+(h-b)*c)<<8|Math.round(m+(r-m)*c)}this.ctx.putImageData(
this.image,0,e)}},Dt=class o{static most=65536;x0=new Float32Array(o.most);x1=new Float32Array(o.most);wait=new Float32Array(o.most);lane=new Uint16Array(o.most);color=new Uint8Array(
o.most);class=new Uint8Array(o.most);span=new Uint32Array(o.most);name=new Uint32Array(o.most);n=0},wt=class o{constructor(t,e,n){this.canvas=t;this.tiles=e;this.
names=n;this.ctx=t.getContext("2d",{alpha:!1})}canvas;tiles;names;stats={paints:0,overlays:0,drawImage:0,fillRect:0,fillText:0,tiles:0,missing:0,viewBytes:0,mostImages:0,
mostRects:0,script:[]};ctx;atlas=new Oe;pieces=new Dt;first=[];scene=null;frame=0;widths=new Map;hatch=null;hatched=null;restyle(){this.atlas.clear()}static needs(t){
let e=gt(t.view,t.width);return{level:e,needs:t.lanes.map(n=>{let s=t.moved[n.rank]??0,[i,r]=qt({t0:t.view.t0-s,t1:t.view.t1-s},e);return{lane:n.lane,from:i,to:r}})}}paint(t){
let{ctx:e,stats:n}=this,s=window.devicePixelRatio||1,i=Math.round(t.width*s),r=Math.round(t.height*s);(this.canvas.width!==i||this.canvas.height!==r)&&(this.canvas.
width=i,this.canvas.height=r),this.scene=t,this.frame++,n.paints++,n.drawImage=n.fillRect=n.fillText=n.tiles=n.missing=n.viewBytes=0,e.setTransform(s,0,0,s,0,0),
e.imageSmoothingEnabled=!1,this.ground(t),this.strips(t),this.spans(t),n.mostImages=Math.max(n.mostImages,n.drawImage),n.mostRects=Math.max(n.mostRects,n.fillRect)}rect(t,e,n,s){
this.stats.fillRect++,this.ctx.fillRect(t,e,n,s)}ground(t){let{ctx:e}=this,{name:n}=t.palette;e.fillStyle=n("bg"),this.rect(0,0,t.width,t.height),e.fillStyle=n(
"panel");for(let i of t.lanes)this.rect(0,i.y-t.top,t.width,i.height);if(t.lines.length===0)return;e.fillStyle=n("line");let s=t.width/(t.view.t1-t.view.t0);for(let i of t.
lines)this.rect(Math.round((i-t.view.t0)*s),0,1,t.height)}strips(t){let{ctx:e,stats:n,pieces:s}=this,{level:i,needs:r}=o.needs(t),h=t.width/(t.view.t1-t.view.t0),
l=512*2**i,p=this.tiles.of(i,t.stretched),d=[1,2,3,4,5,6,8,10].map(u=>({by:u,get:this.tiles.of(i+u,t.stretched)}));s.n=0,this.first.length=0,e.globalAlpha=t.found===
null?1:.35;for(let u=0;u<r.length;u++){let{lane:f,from:c,to:m}=r[u],b=t.lanes[u],v=t.moved[b.rank]??0;this.first.push(s.n);for(let w=c;w<=m&&!(n.drawImage>=ws);w++){
let y=(w*l+v-t.view.t0)*h,k=l*h,S=p(f,w);if(S===void 0){n.missing++,this.coarse(d,f,w,y,k,b.y-t.top,b.height,t);continue}n.tiles++,n.viewBytes+=S.bytes,S.strip!==
null&&(n.drawImage++,e.drawImage(this.atlas.canvas,0,this.atlas.row(S,t.palette,this.frame),512,1,y,b.y-t.top,k,b.height),this.gather(S,u,y,h*Pe(i),h*2**i,i,t))}}
this.first.push(s.n),e.globalAlpha=1}coarse(t,e,n,s,i,r,h,l){for(let{by:p,get:d}of t){let u=2**p,f=d(e,Math.floor(n/u));if(f===void 0)continue;if(f.strip===null)
return;let c=512/u,m=(n-Math.floor(n/u)*u)*c;this.stats.drawImage++,this.ctx.drawImage(this.atlas.canvas,m,this.atlas.row(f,l.palette,this.frame),c,1,s,r,i,h);return}}gather(t,e,n,s,i,r,h){
let l=this.pieces,p=Pe(r)/2**r;for(let d=0;d<t.pieces&&l.n<Dt.most;d++){let u=n+t.start[d]*s,f=u+t.width[d]*s,c=u;if((t.flags[d]&8)!==0&&t.strip!==null){let w=Math.
floor(t.start[d]*p),y=Math.min(Math.ceil((t.start[d]+t.width[d])*p),512),k=w+ +(w<y&&t.strip.waited[w]>0);for(;k>w&&k<y&&t.strip.waited[k]>=128;)k++;k>w&&(c=Math.
min(n+k*i,f))}let m=l.n-1;if((t.flags[d]&1)!==0&&m>=this.first[e]&&l.span[m]===t.span[d]){c>u&&(l.wait[m]=c),l.x1[m]=f;continue}let b=t.name[d],v=t.class[d];l.x0[l.
n]=u,l.x1[l.n]=f,l.wait[l.n]=c,l.lane[l.n]=e,l.class[l.n]=v,l.color[l.n]=v*_n+(h.found!==null&&!h.found.has(b)?Rn:b*7%3),l.span[l.n]=t.span[d],l.name[l.n]=b,l.n++}}threshold(t,e){
let n=this.pieces,{width:s}=this.scene;if(n.n<=t)return e;let i=new Uint32Array(256),r=0;for(let h=0;h<n.n;h++)n.x1[h]<=0||n.x0[h]>=s||i[Math.min(Math.floor(n.x1[h]-
n.x0[h]),255)]++;for(let h=255;h>=0;h--)if(r+=i[h],r>t)return Math.max(h+1,e);return e}spans(t){let{ctx:e,pieces:n}=this,s=En-this.stats.fillRect,i=this.threshold(
Math.floor(s*.8),0),r=[],h=[];for(let l=0;l<n.n;l++)n.x1[l]-n.x0[l]<i||n.x1[l]<=0||n.x0[l]>=t.width||((r[n.color[l]]??=[]).push(l),n.wait[l]>n.x0[l]&&h.push(l));
if(r.forEach((l,p)=>{e.fillStyle=t.palette.fill[p];for(let d of l){let u=t.lanes[n.lane[d]],f=Math.max(Math.round(n.x0[d]),-2),c=Math.min(Math.round(n.x1[d]),t.
width+2);this.rect(f,u.y-t.top,Math.max(c-f-(c-f>3?1:0),1),u.height)}}),h.length>0){e.fillStyle=this.hatching(t.palette);for(let l of h.slice(0,Math.max(En-this.
stats.fillRect,0))){let p=t.lanes[n.lane[l]],d=Math.max(Math.round(n.x0[l]),-2),u=Math.min(Math.round(n.wait[l]),t.width+2);(t.found===null||t.found.has(n.name[l]))&&
this.rect(d,p.y-t.top,Math.max(u-d,1),p.height)}}this.labels(t,i)}labels(t,e){let{ctx:n,pieces:s}=this,i=Math.max(this.threshold(An,$e),$e,e);n.font="11px syste\
m-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",n.textBaseline="middle",n.textAlign="left";let r="";for(let h=0;h<s.n;h++){if(s.x1[h]-s.x0[h]<i||this.stats.
fillText>=An)continue;let l=s.x0[h],p=s.x1[h],d=t.palette.text[s.color[h]];s.wait[h]>l&&(s.wait[h]-Math.max(l,0)>Math.min(p,t.width)-s.wait[h]?(p=s.wait[h],d=t.
palette.waitText):l=s.wait[h]),l=Math.max(l,0),p=Math.min(p,t.width);let u=p-l-7;if(u<$e-10)continue;let f=this.fit(this.names.get(s.name[h]),u);if(f==="")continue;
d!==r&&(n.fillStyle=r=d);let c=t.lanes[s.lane[h]];this.stats.fillText++,n.fillText(f,l+4,c.y-t.top+c.height/2+.5)}}fit(t,e){if(t==="")return"";let n=this.widths.
get(t);if(n===void 0&&(this.widths.size>2e4&&this.widths.clear(),n=this.ctx.measureText(t).width,this.widths.set(t,n)),n<=e)return t;let s=Math.floor(t.length*(e-
9)/n);return s<2?"":t.slice(0,s)+"…"}hatching(t){if(this.hatched!==t){let e=document.createElement("canvas"),n=e.getContext("2d");e.width=e.height=6,n.fillStyle=
t.waitFill[0],n.fillRect(0,0,6,6),n.strokeStyle=t.waitFill[1],n.lineWidth=1.5,n.beginPath();for(let s of[-6,0,6])n.moveTo(s,6),n.lineTo(s+6,0);n.stroke(),this.hatch=
this.ctx.createPattern(e,"repeat"),this.hatched=t}return this.hatch??t.waitFill[0]}hit(t,e){let n=this.scene;if(n===null)return null;for(let s=0;s<n.lanes.length;s++){
let i=n.lanes[s];if(e<i.y-n.top||e>=i.y-n.top+i.height+1)continue;let r=this.pieces,h=this.first[s],l=this.first[s+1];for(;h<l;){let p=h+l>>1;r.x1[p]<=t?h=p+1:l=
p}return h<this.first[s+1]&&r.x0[h]<=t?{lane:i,span:r.span[h],name:r.name[h],class:r.class[h],x0:r.x0[h],x1:r.x1[h]}:i}return null}classAt(t,e){let n=this.scene,
s=gt(n.view,n.width),i=n.view.t0+e/n.width*(n.view.t1-n.view.t0)-(n.moved[t.rank]??0),r=512*2**s,h=this.tiles.of(s,n.stretched)(t.lane,Math.floor(i/r));if(h?.strip==
null)return{class:0,covered:0};let l=Math.floor((i-h.index*r)/2**s);return{class:h.strip.class[l],covered:h.strip.covered[l]/255}}};var xs={outside:"it belongs to no step, so nothing says which of this rank is its like",no_step:"the file of this rank does not have the step",none_such:"this r\
ank ran nothing like it there",too_many:"the kernels differ over so long a stretch that nothing is sure",apart:"this rank shares no collectives with the other: \
its steps are others"};function jt(o){let t=a("i",{class:"tl-swatch"});return t.style.background=`var(--${Ft[o]??"other"})`,t}var Ut=class{constructor(t,e){this.
head=t;this.events=e}head;events;el=a("section",{class:"tl-panel","aria-label":"Details",tabindex:"0",hidden:!0});hide(){this.el.hidden=!0,x(this.el)}open(t,...e){
this.el.hidden=!1,x(this.el,a("div",{class:"tl-panel-head"},...t,a("span",{class:"space"}),a("button",{class:"quiet",title:"Close (key: Escape)","aria-label":"C\
lose the details",on:{click:()=>this.events.close()}},"✕")),a("div",{class:"tl-panel-body"},...e))}link(t,e=t.label){return a("button",{class:"tl-link",title:t.
label,on:{click:()=>this.events.go(t)}},e)}span(t){let e=[["rank",this.head.ranks[t.rank]],["start",g(t.start_ns)],["duration",g(t.dur_ns)]];t.wait_ns>0&&e.push(
["waits for others",g(t.wait_ns)]),t.last>=0&&e.push(["last to come",this.head.ranks[t.last]+(t.last===t.rank?", this one":"")]),t.step>=0&&e.push(["step",`${t.
step}${t.step_name?", "+t.step_name:""}`]),t.layer!==""&&e.push(["layer",t.layer]),t.launch!==null&&e.push(["launched by",this.link(t.launch)],["launch delay",g(
t.delay_ns)]),t.launches>0&&e.push(["launched",`${T(String(t.launches))} on the GPU`],["launch delay",g(t.delay_ns)]);let n=t.name!==t.label&&a("p",{class:"tl-f\
ull"},t.name);this.open([jt(t.class),a("h2",null,t.label),a("span",{class:"tl-soft"},t.category)],a("div",{class:"tl-facts"},n,Ln(e),t.args.length>0&&Ln(t.args.
map(s=>[s.name,s.value]))),t.counterparts.length>0&&this.counterparts(t),(t.around.length>0||t.launched.length>0)&&a("div",{class:"tl-around"},t.launched.length>
0&&a("h3",null,"It launched"),t.launched.length>0&&a("ol",null,...t.launched.map(s=>a("li",null,this.link(s),a("span",{class:"tl-soft"}," "+g(s.dur_ns)))),t.launches>
t.launched.length&&a("li",{class:"tl-soft"},`and ${t.launches-t.launched.length} more`)),t.around.length>0&&a("h3",null,t.launch?"The launch is in":"It is in"),
t.around.length>0&&a("ol",null,...t.around.map(s=>a("li",null,this.link(s),a("span",{class:"tl-soft"}," "+g(s.dur_ns)))))))}counterparts(t){let e=Math.max(t.dur_ns,
...t.counterparts.map(u=>u.why===""?u.dur_ns:0),1),n=u=>{let f=a("span",{class:"tl-bar"});return f.style.width=u/e*90+"px",f.style.background=`var(--${Ft[t.class]??
"other"})`,f},s=t.counterparts.some(u=>u.delays),i=t.counterparts.some(u=>u.grid!==""),r=t.args.find(u=>u.name==="grid")?.value??"",h=u=>u.why!==""?a("tr",{class:"\
tl-none"},a("th",{scope:"row"},this.head.ranks[u.rank]),a("td",{colspan:String(3+Number(i)+Number(s))},"none: "+(xs[u.why]??u.why))):a("tr",{data:{rank:String(u.
rank),span:String(u.span)}},a("th",{scope:"row"},this.link(u,this.head.ranks[u.rank])),a("td",null,n(u.dur_ns)," "+g(u.dur_ns)),a("td",{class:"r"},E(u.longer_ns)),
a("td",{class:"r"},E(u.later_ns)),i&&a("td",{class:u.grid!==r?"tl-differs":""},u.grid+(u.other?" · another kernel: "+u.label:"")),s&&a("td",{class:"r"},u.delays?
E(u.delayed_ns):"")),l=a("tr",{class:"selected"},a("th",{scope:"row"},this.head.ranks[t.rank]),a("td",null,n(t.dur_ns)," "+g(t.dur_ns)),a("td",null),a("td",null),
i&&a("td",null,r),s&&a("td",null)),d=[...t.counterparts.map(u=>[u.rank,h(u)]),[t.rank,l]].sort((u,f)=>u[0]-f[0]).map(([,u])=>u);return a("div",{class:"tl-counte\
rparts"},a("h3",null,"The same on every rank"),a("table",null,a("thead",null,a("tr",null,a("th",{scope:"col"},"rank"),a("th",{scope:"col"},"duration"),a("th",{scope:"\
col",class:"r"},"longer by"),a("th",{scope:"col",class:"r"},"starts later by"),i&&a("th",{scope:"col"},"grid"),s&&a("th",{scope:"col",class:"r"},"launch delay"))),
a("tbody",null,...d)))}range(t,e,n){let s=[{id:"name",title:"name",key:l=>l.name,text:l=>[jt(l.class),this.link(l.longest,l.name)],right:!1},{id:"count",title:"\
count",key:l=>l.count,text:l=>T(String(l.count)),right:!0},{id:"self",title:"self time",key:l=>l.self_ns,text:l=>g(l.self_ns),right:!0},{id:"total",title:"total",
key:l=>l.total_ns,text:l=>g(l.total_ns),right:!0},{id:"wait",title:"waiting",key:l=>l.wait_ns,text:l=>l.wait_ns>0?g(l.wait_ns):"",right:!0},{id:"max",title:"lon\
gest",key:l=>l.max_ns,text:l=>g(l.max_ns),right:!0},{id:"spread",title:"least to most rank",key:l=>l.most_ns-l.least_ns,text:l=>e>1&&l.most>=0?`${g(l.least_ns)}\
 (${this.head.ranks[l.least]}) – ${g(l.most_ns)} (${this.head.ranks[l.most]})`:"",right:!0}],i=n.startsWith("-"),r=s.find(l=>l.id===n.replace(/^-/,""))??s[2],
h=t.sums.slice().sort((l,p)=>{let d=r.key(l),u=r.key(p),f=typeof d=="string"?d.localeCompare(String(u),"en"):d-Number(u);return i?-f:f});this.open([a("h2",null,
g(t.to_ns-t.from_ns)),a("span",{class:"tl-soft"},`from ${g(t.from_ns)}: what the rows that are shown hold`)],a("div",{class:"table tl-range"},h.length===0?a("p",
{class:"tl-soft"},"Nothing begins, runs or ends here on the rows that are shown."):a("table",null,a("thead",null,a("tr",null,...s.map(l=>a("th",{scope:"col",class:l.
right?"r":"","aria-sort":l===r?i?"descending":"ascending":null},a("button",{on:{click:()=>this.events.sort(l===r&&i?l.id:"-"+l.id)}},l.title,l===r&&a("span",{"a\
ria-hidden":"true"},i?" ▾":" ▴")))))),a("tbody",null,...h.map(l=>a("tr",null,...s.map(p=>{let d=p.text(l),u=a("td",{class:p.right?"r":"name"});return Array.
isArray(d)?u.append(...d):x(u,d),u}))))),t.all>h.length&&a("p",{class:"tl-soft"},`${T(String(t.all-h.length))} more names, each with less self time, are left ou\
t.`)))}found(t,e){this.open([a("h2",null,t.all===0?`No name holds “${e}”`:`${T(String(t.spans))} spans of ${T(String(t.all))} name${t.all===1?"":"s"}, ${g(t.
total_ns)}`),a("span",{class:"tl-soft"},t.all===0?"on the rows that are shown":"n and N go to the next and the one before")],t.names.length>0&&a("div",{class:"t\
able tl-range"},a("table",null,a("thead",null,a("tr",null,a("th",{scope:"col"},"name"),a("th",{scope:"col",class:"r"},"spans"),a("th",{scope:"col",class:"r"},"t\
otal"))),a("tbody",null,...t.names.map(n=>a("tr",null,a("td",{class:"name"},this.link(n.first,n.name)),a("td",{class:"r"},T(String(n.count))),a("td",{class:"r"},
g(n.total_ns))))))))}};function Ln(o){return a("dl",null,...o.flatMap(([t,e])=>[a("dt",null,t),a("dd",null,e)]))}var z=18,G=18,Pn=24;function ys(o,t){let e=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]],[n,s]=e.find(([r])=>Math.abs(o)>=r&&t>=r/1e6)??e.find(([r])=>t>=r)??e[3],
i=Math.min(Math.max(-Math.floor(Math.log10(t/n)+1e-9),0),6);return(o/n).toFixed(i)+" "+s}function Wt(o,t){let e=0;for(;e<o.length&&(o[e].end_ns===0||o[e].end_ns<=
t.t0);)e++;let n=e;for(;n<o.length&&(o[n].end_ns===0||o[n].start_ns<t.t1);)n++;return[e,n]}var D=class{constructor(t){this.canvas=t;this.ctx=t.getContext("2d",{
alpha:!1})}canvas;ctx;static height(t){return z+(t.wall?G:0)+(t.wall&&t.ribbons?Pn:0)}paint(t,e){let{ctx:n}=this,s=window.devicePixelRatio||1;this.canvas.width=
Math.round(t.width*s),this.canvas.height=Math.round(e*s),n.setTransform(s,0,0,s,0,0),n.fillStyle=t.palette.name("bg"),n.fillRect(0,0,t.width,e),n.font="11px sys\
tem-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",n.textBaseline="middle",this.ticks(t),t.wall&&(this.steps(t),e>z+G&&this.ribbons(t))}x(t,e){return(e-t.view.
t0)/(t.view.t1-t.view.t0)*t.width}ticks(t){let{ctx:e}=this,{step:n,first:s}=gn(t.view,t.width,110);e.textAlign="left";for(let i=0;i<100;i++){let r=s+i*n,h=Math.
round(this.x(t,r));if(h>t.width)break;e.fillStyle=t.palette.name("line"),e.fillRect(h,4,1,z-4),e.fillStyle=t.palette.name("soft");let l=ys(r,n);h+4+l.length*6.5<
t.width&&e.fillText(l,h+4,z/2+1)}}steps(t){let{ctx:e}=this,[n,s]=Wt(t.steps,t.view);e.textAlign="left";let i=Math.max(Math.ceil((s-n)/(t.width/2)),1);for(let r=n;r<
s;r+=i){let h=t.steps[r];if(h.end_ns===0)continue;let l=t.steps[r+1],p=l!==void 0&&l.end_ns!==0?Math.min(h.end_ns,l.start_ns):h.end_ns,d=Math.max(Math.round(this.
x(t,h.start_ns)),-2),u=Math.min(Math.round(this.x(t,p)),t.width+2),f=Math.max(u-d-(u-d>3?1:0),1),c=t.palette.name(h.slow?"high":st(h.kind));e.fillStyle=c,e.globalAlpha=
r===t.picked?1:.3,e.fillRect(d,z,f,G-2),e.globalAlpha=1,e.fillRect(d,z+G-4,f,2);let m=String(r),b=f>30+6.5*(h.kind.length+6)?`step ${m} · ${h.kind}${h.slow?" ·\
 slow":""}`:m;f<b.length*6.5+6||(e.fillStyle=r===t.picked?lt(ks(c)):t.palette.name("text"),e.fillText(b,Math.max(d,0)+4,z+G/2-1))}}ribbons(t){let{ctx:e}=this,n=z+
G+2,s=Pn-6;for(let i of t.ribbons){let r=this.x(t,i.first_ns),h=this.x(t,i.last_ns),l=this.x(t,i.end_ns);if(l<0||r>t.width||(e.fillStyle=t.palette.name("communi\
cation"),e.fillRect(h,n+s-4,Math.max(l-h,1),4),h-r<.75))continue;e.fillStyle=t.palette.name("wait");let p=i.arrivals_ns.length;for(let d=0;d+1<p;d++){let u=this.
x(t,i.arrivals_ns[d]),f=this.x(t,i.arrivals_ns[d+1]),c=(d+1)/p,m=Math.max(c*s,2);f>u&&e.fillRect(u,n+s-m,Math.max(f-u,.5),m)}e.fillRect(Math.round(h)-1,n,1.5,s)}}static ribbonAt(t,e,n){
if(!t.wall||n<z+G)return null;let s=t.view.t0+e/t.width*(t.view.t1-t.view.t0),i=(t.view.t1-t.view.t0)/t.width*3,r=null;for(let h of t.ribbons)s>=h.first_ns-i&&s<=
h.end_ns+i&&(r===null||h.wait_ns>r.wait_ns)&&(r=h);return r}static stepAt(t,e,n){return!t.wall||n<z||n>=z+G?-1:Kt(t.steps,t.view.t0+e/t.width*(t.view.t1-t.view.
t0))}};function Kt(o,t){let e=-1;return o.forEach((n,s)=>{n.end_ns!==0&&n.start_ns<=t&&t<n.end_ns&&(e=s)}),e}function Cn(o,t){return{title:o.op+(o.step>=0?`, st\
ep ${o.step}`:""),rows:[["last to come",t],["first waits for it",g(o.last_ns-o.first_ns)],["waited, all ranks",g(o.wait_ns)],["then until all have left",g(o.end_ns-
o.last_ns)],["ranks",String(o.ranks)]]}}function ks(o){return[1,3,5].map(t=>parseInt(o.slice(t,t+2),16))}function Ss(o,t,e){let n=[],s=0;for(let i of o){let{from:r,to:h}=i;for(;r<=h&&t(i.lane,r);)r++;for(;h>=r&&t(i.lane,h);)h--;if(h=Math.min(h,r+e-s-1),h<r)continue;
s+=h-r+1;let l=n[n.length-1];l!==void 0&&l.last===i.lane-1&&l.from===r&&l.to===h?l.last=i.lane:n.push({first:i.lane,last:i.lane,from:r,to:h})}return n.map(i=>`${i.
first}-${i.last}@${i.from}_${i.to}`).join(";")}var qn=4e3,Vt=class o{constructor(t,e,n){this.epoch=t;this.ask=e;this.arrived=n}epoch;ask;arrived;levels=new Map;loading=!1;failed=new Set;received=0;requests=0;static key(t,e){
return t*2**32+(e+2**31)}at(t,e){let n=(e?"s":"w")+t,s=this.levels.get(n);return s===void 0?s=new Map:this.levels.delete(n),this.levels.set(n,s),s}of(t,e){let n=this.
levels.get((e?"s":"w")+t);return n===void 0?()=>{}:(s,i)=>n.get(o.key(s,i))}add(t,e,n){let s=this.at(t,e);for(let i of Mn(n,this.epoch))s.set(o.key(i.lane,i.index),
i);this.received+=n.byteLength}levelsOf(t){return[...this.levels.keys()].filter(e=>e.startsWith(t?"s":"w")).map(e=>Number(e.slice(1)))}load(t,e,n){if(this.loading||
this.ask===null)return;let s=this.of(e,n),i=Ss(t,(h,l)=>s(h,l)!==void 0,448),r=`${e} ${n} ${i}`;i===""||this.failed.has(r)||(this.loading=!0,this.requests++,this.
ask(e,n,i).then(h=>{this.add(e,n,h),this.forget()},h=>{throw this.failed.add(r),h}).finally(()=>{this.loading=!1,this.arrived()}))}forget(){let t=0;for(let e of this.
levels.values())t+=e.size;for(let[e,n]of this.levels){if(t<=qn)return;if(this.levels.size===1)break;t-=n.size,this.levels.delete(e)}for(let e of this.levels.values())
for(let n of e.keys()){if(t<=qn)return;e.delete(n),t--}}kept(){let t=0;for(let e of this.levels.values())t+=e.size;return t}},Xt=class{constructor(t,e,n){this.size=
t;this.ask=e;this.arrived=n}size;ask;arrived;blocks=new Map;get(t){let e=Math.floor(t/this.size),n=this.blocks.get(e);return n===void 0&&(this.blocks.set(e,null),
this.ask(e).then(s=>{this.blocks.set(e,s),this.arrived()})),n?.[t-e*this.size]??""}};var Ts=200,ze=class{constructor(t,e){this.context=t;this.head=e;this.all=vt(e),this.state=_e(t.store.params,e);let n=t.store.params.c;this.tiles=new Vt(e.epoch,
(i,r,h)=>ve("timeline/tiles",{c:n,level:i,axis:r?"stretched":null,tiles:h}),()=>this.draw("lanes")),this.names=new Xt(e.block,i=>M("timeline/names",{c:n,block:i}),
()=>this.draw("lanes")),this.painter=new wt(a("canvas",{class:"lanes",role:"img","aria-label":"Spans of all rows"}),this.tiles,this.names),this.minimap=new It(a(
"canvas",{role:"img","aria-label":"The whole capture"}),this.tiles,e),this.heat=new Ot(e,{load:i=>ve("timeline/heat",{c:n,measure:i}),choose:i=>t.store.set({heat:i}),
pick:(i,r)=>this.compare(i,r),brush:(i,r)=>this.look(at(e,i,r),"push")},()=>this.draw("heat")),this.panel=new Ut(e,{go:i=>this.go(i),find:i=>t.store.set({q:i}),
sort:i=>t.store.set({sort:i}),close:()=>this.clear()});let s=a("div",{class:"tl-stage"},this.painter.canvas,this.strips,this.overlay.canvas);this.spacer.append(
this.gutter,s),this.body.append(this.spacer),this.el.append(this.tools,this.heat.el,a("div",{class:"tl-above tl-mini"},a("div",{class:"legend"},"whole capture"),
this.minimap.canvas),a("div",{class:"tl-above tl-rule"},this.legend,this.ruler.canvas),this.body,this.panel.el,this.classes),this.listen(),this.bind(),this.watch=
new ResizeObserver(()=>this.draw("lanes","heat","gutter")),this.watch.observe(this.body),this.apply(t.store.params,null),window.__stats=Object.assign(this.painter.
stats,{received:()=>this.tiles.received,requests:()=>this.tiles.requests,kept:()=>this.tiles.kept(),idle:()=>mt()&&this.frame===0,look:i=>{let r=e.steps[e.steps.
length-1]??{start_ns:this.all.t0,end_ns:this.all.t1};this.look(i((r.start_ns+r.end_ns)/2))}})}context;head;el=a("div",{class:"tl"});all;state;palette=He();plan={
groups:[],lanes:[],height:0};alignment=null;found=null;selected=null;ribbons=[];parts=null;moved=new Map;pointer={x:-1,y:-1,box:null};dirty=new Set;frame=0;timer=0;settle=0;rested=()=>{};settled="";written=()=>{};watch;tiles;names;painter;overlay=new Bt(
a("canvas",{class:"overlay"}));ruler=new D(a("canvas",{role:"img","aria-label":"Time, steps and collectives"}));minimap;heat;panel;gutter=a("div",{class:"tl-gut\
ter"});strips=a("canvas",{class:"tl-strips"});spacer=a("div",{class:"tl-spacer"});body=a("div",{class:"tl-body",tabindex:"0",role:"region","aria-label":"Rows of\
 all ranks"});search=a("input",{type:"search",placeholder:"Search names  /","aria-label":"Search names of spans"});length=a("span",{class:"length",title:"How mu\
ch time is shown"});tools=a("div",{class:"tl-tools"});legend=a("div",{class:"legend"});classes=a("p",{class:"tl-classes","aria-label":"Colours"});get width(){return Math.
max(this.body.clientWidth-Ts,50)}get c(){return this.context.store.params.c}update(t,e){this.apply(t,e)}apply(t,e){let n=this.state=_e(t,this.head),s=(...i)=>e===
null||i.some(r=>t[r]!==e[r]);s("only","open")&&(this.plan=$t(this.head,n.open,n.only),this.spacer.style.height=this.plan.height+"px",this.colours()),s("y","only",
"open")&&Math.abs(this.body.scrollTop-n.y)>1&&(this.body.scrollTop=n.y),s("align","step","at")&&(e===null||n.by!==this.alignment?.by||n.by!=="wall")&&this.align(),
s("heat")&&this.heat.show(n.heat).then(()=>this.draw("heat")),s("q")&&this.seek(),s("rank","sel")&&(e===null||this.selected?.rank!==n.rank||this.selected?.span!==
n.sel)&&this.select(),s("r0","r1","only","open","align","step","at","sort")&&n.sel<0&&this.sum(),this.draw("lanes","overlay","gutter","heat"),this.toolbar()}align(){
let{by:t,step:e,at:n}=this.state,s={c:this.c,align:t,step:t==="step"?e:null,at:t==="collective"?n:null};M("timeline/align",s).then(i=>{this.state.by===i.by&&(this.
alignment=i,this.settled="",this.draw("lanes","overlay","gutter"))})}seek(){let{q:t}=this.state;if(this.search.value!==t&&document.activeElement!==this.search&&
(this.search.value=t),t===""){this.found!==null&&this.state.sel<0&&this.state.range===null&&this.panel.hide(),this.found=null;return}M("timeline/search",{c:this.
c,q:t,rows:this.rows(),after:Math.round(this.state.view.t0)}).then(e=>{this.state.q===t&&(this.found=e,this.state.sel<0&&this.state.range===null&&this.panel.found(
e,t),this.draw("lanes"))})}select(){let{rank:t,sel:e}=this.state;if(e<0){this.selected=null,this.state.range===null&&(this.found!==null?this.panel.found(this.found,
this.state.q):this.panel.hide());return}M("timeline/span",{c:this.c,rank:t,span:e}).then(n=>{this.state.rank!==t||this.state.sel!==e||(this.selected=n,this.panel.
span(n),this.draw("overlay","lanes"))})}sum(){let{range:t,by:e,step:n,at:s,sort:i}=this.state;if(t===null){this.found===null&&this.panel.hide();return}let r={c:this.
c,from:t.t0,to:t.t1,rows:this.rows(),align:e,step:e==="step"?n:null,at:e==="collective"?s:null};M("timeline/range",r).then(h=>{this.state.range?.t0!==t.t0||this.
state.range.t1!==t.t1||this.state.sel>=0||(this.panel.range(h,this.plan.groups.length,i),this.draw("overlay","lanes"))})}rows(){return this.plan.groups.flatMap(
t=>t.rows.map(e=>e.row)).join(",")}clear(){this.context.store.set({sel:null,r0:null,r1:null}),this.panel.hide()}look(t,e="replace",n={}){if(t!==null){if(this.state.
view=t,this.draw("lanes","overlay"),e==="push"||Object.keys(n).length>0){this.state.y=this.body.scrollTop,this.context.store.set({...this.place(),...n},e);return}
this.write()}}place(){return{t0:Math.round(this.state.view.t0),t1:Math.round(this.state.view.t1),y:Math.round(this.body.scrollTop)||null}}write(){clearTimeout(this.
timer),this.written(),et(new Promise(t=>this.written=t)),this.timer=window.setTimeout(()=>{let t=this.state.view;this.context.store.set(this.place()),this.state.
view=t,this.written()},250)}zoom(t,e=this.pointer.x>=0?this.pointer.x:this.width/2){this.look(fn(this.state.view,this.time(e),t,this.all))}pan(t){this.look(Te(this.
state.view,t,this.all))}time(t){return this.state.view.t0+t/this.width*(this.state.view.t1-this.state.view.t0)}shown(t){if(this.state.by==="stretched")return{start:t.
stretched_ns[0],end:t.stretched_ns[1]};let e=this.alignment?.moved_ns[t.rank]??0;return{start:t.start_ns+e,end:t.start_ns+e+t.dur_ns}}go(t,e="push",n=!1){let s={
rank:t.rank,sel:t.span,r0:null,r1:null},i=this.state.only;i.length>0&&!i.includes(t.rank)&&(i=[]);let r=new Set(this.state.open),h=this.head.rows.findIndex(m=>t.
lane>=m.lane&&t.lane<m.lane+m.lanes),l=()=>$t(this.head,r,i).lanes.find(m=>m.lane===t.lane);h>=0&&l()===void 0&&!this.head.rows[h].pinned&&r.add("r"+t.rank),h>=
0&&l()===void 0&&r.add(String(h));let p=l(),{start:d,end:u}=this.shown(t),f=Nt(this.state.view,d,u-d,this.all,n),c=this.body.scrollTop;p!==void 0&&(p.y<c+20||p.
y>c+this.body.clientHeight-40)&&(c=Math.max(p.y-this.body.clientHeight/3,0)),this.spacer.style.height=$t(this.head,r,i).height+"px",this.body.scrollTop=c,this.look(
f,e,{...s,open:[...r].join(",")||null,only:i.join(",")||null,y:Math.round(c)||null})}compare(t,e){let n=this.heat.cells,s=n===null?-1:yn(n.values,this.head.ranks.
length,this.head.steps.length,e),i=s<0||s===t?[t]:[t,s];this.body.scrollTop=0,this.look(at(this.head,e,e),"push",{only:i.join(","),align:"step",step:e,rank:t,sel:null,
r0:null,r1:null,at:null,y:null})}cycle(){let t=Ht.filter(n=>n.by!=="stretched"||this.head.stretch),e=t.findIndex(n=>n.by===this.state.by);this.choose(t[(e+1)%t.
length].by)}choose(t){let e=Math.round((this.state.view.t0+this.state.view.t1)/2),{steps:n}=this.head,s=this.state.step>=0?this.state.step:Math.max(Kt(n,e),0),i=this.
selected!==null&&this.selected.last>=0?this.selected.start_ns:e;this.look(this.state.view,"push",{align:t==="wall"?null:t,step:t==="step"?s:this.context.store.params.
step??null,at:t==="collective"?i:null})}nextStep(t){let e=(this.state.view.t0+this.state.view.t1)/2,n=this.state.step>=0?this.state.step:Kt(this.head.steps,e),s=Math.
min(Math.max(n+t,0),this.head.steps.length-1);this.look(at(this.head,s,s),"replace",{step:s})}async nextFound(t){if(this.state.q==="")return;let e=this.selected!==
null?this.selected.start_ns:Math.round(t?this.state.view.t1:this.state.view.t0),n=await M("timeline/search",{c:this.c,q:this.state.q,rows:this.rows(),after:e,back:t?
1:null});n.next!==null&&this.go(n.next,"replace")}async beside(t){let e=this.selected,n=e!==null?await M("timeline/beside",{c:this.c,rank:e.rank,span:e.span,back:t?
1:null}):await this.first();n!==null&&this.go(n,"replace")}async first(){for(let t of Ee(this.plan.lanes,this.body.scrollTop,this.body.scrollTop+this.body.clientHeight)){
let e=await this.ask(t,this.state.view.t0,this.state.view.t1);if(e!==null)return e}return null}async lanesAway(t){let e=this.selected;if(e===null)return void(this.
body.scrollTop+=t*48);let{lanes:n}=this.plan;for(let s=n.findIndex(i=>i.lane===e.lane)+t;s>=0&&s<n.length;s+=t){let{start:i,end:r}=this.shown(e),h=await this.ask(
n[s],i,Math.max(r,i+1));if(h!==null)return this.go(h,"replace")}}ask(t,e,n){let s=this.alignment?.moved_ns[t.rank]??0;return M("timeline/hit",{c:this.c,lane:t.lane,
from:Math.floor(e-s),to:Math.ceil(Math.max(n-s,e-s+1)),axis:this.state.by==="stretched"?"stretched":null})}counterpart(t){let e=this.selected;if(e===null)return;
let n=e.counterparts.filter(r=>r.span>=0),s=n.filter(r=>t>0?r.rank>e.rank:r.rank<e.rank),i=t>0?s[0]??n[0]:s[s.length-1]??n[n.length-1];i!==void 0&&this.go(i,"re\
place")}bind(){let{keys:t,store:e}=this.context,n="Timeline";t.bind("w +",n,"zoom in",()=>this.zoom(.75)),t.bind("s -",n,"zoom out",()=>this.zoom(1/.75)),t.bind(
"a ArrowLeft",n,"to the left",()=>this.pan(-.1)),t.bind("d ArrowRight",n,"to the right",()=>this.pan(.1)),t.bind("0 Home",n,"the whole capture",()=>this.look(bt(
this.all))),t.bind("f",n,"what is selected as wide as the view",()=>{this.selected!==null?this.go(this.selected,"replace",!0):this.state.range!==null&&this.look(
Nt(this.state.view,this.state.range.t0,this.state.range.t1-this.state.range.t0,this.all,!0))}),t.bind("m",n,"sum up what runs during the selected span",()=>{if(this.
selected===null)return;let{start:s,end:i}=this.shown(this.selected);e.set({r0:Math.round(s),r1:Math.round(Math.max(i,s+1)),sel:null},"push")}),t.bind("[",n,"the\
 step before",()=>this.nextStep(-1)),t.bind("]",n,"the next step",()=>this.nextStep(1)),t.bind(".",n,"select the next span of the lane",()=>{this.beside(!1)}),t.
bind(",",n,"and the one before",()=>{this.beside(!0)}),t.bind("ArrowDown",n,"select in the lane below",()=>{this.lanesAway(1)}),t.bind("ArrowUp",n,"and in the l\
ane above",()=>{this.lanesAway(-1)}),t.bind("c",n,"to the counterpart on the next rank",()=>this.counterpart(1)),t.bind("C",n,"and on the rank before",()=>this.
counterpart(-1)),t.bind("A",n,"align ranks another way",()=>this.cycle()),t.bind("h",n,"show or hide the map of ranks and steps",()=>e.set({heat:this.state.heat===
"off"?"work":"off"})),t.bind("H",n,"another measure of the map",()=>{let s=this.head.measures.findIndex(i=>i.id===this.state.heat);e.set({heat:this.head.measures[(s+
1)%this.head.measures.length].id})}),t.bind("u",n,"unfold or fold all rows of the rank",()=>this.turn("r"+Math.max(this.state.rank,0))),t.bind("r",n,"all ranks \
again",()=>e.set({only:null})),t.bind("/",n,"search names",()=>this.search.focus()),t.bind("n",n,"the next span that was found",()=>{this.nextFound(!1)}),t.bind(
"N",n,"and the one before",()=>{this.nextFound(!0)}),t.bind("Escape",n,"select nothing",()=>this.clear())}turn(t){this.context.store.set({open:[...vn(this.state.
open,t)].join(",")||null})}toolbar(){let{state:t}=this,e=document.activeElement===this.search;x(this.tools,this.search,a("span",{role:"group","aria-label":"Alig\
n ranks by (key: A)"},...Ht.filter(n=>n.by!=="stretched"||this.head.stretch).map(n=>a("button",{class:"choice",title:n.help,"aria-pressed":String(n.by===t.by),data:{
align:n.by},on:{click:()=>this.choose(n.by)}},n.title))),t.by!=="wall"&&a("span",{class:"tl-soft"},t.by==="step"?`at step ${t.step}`:t.by==="collective"?"at the\
 nearest to the middle":"between collectives"),t.only.length>0&&a("span",{class:"tl-only"},"only "+t.only.map(n=>this.head.ranks[n]).join(" and "),a("button",{class:"\
quiet",title:"All ranks (key: r)","aria-label":"All ranks",on:{click:()=>this.context.store.set({only:null})}},"✕")),a("span",{class:"space"}),this.head.steps.
length>1&&a("button",{class:"button","aria-pressed":String(t.heat!=="off"),title:"Ranks × steps (key: h)",on:{click:()=>this.context.store.set({heat:t.heat==="\
off"?"work":"off"})}},"map"),a("button",{class:"button",title:"The whole capture (key: 0)",on:{click:()=>this.look(bt(this.all))}},"whole"),a("button",{class:"b\
utton","aria-label":"Zoom out",title:"Zoom out (key: s)",on:{click:()=>this.zoom(2,this.width/2)}},"−"),a("button",{class:"button","aria-label":"Zoom in",title:"\
Zoom in (key: w)",on:{click:()=>this.zoom(.5,this.width/2)}},"+"),this.length),e&&this.search.focus()}draw(...t){for(let e of t)this.dirty.add(e);this.frame===0&&
(this.frame=requestAnimationFrame(()=>this.paint()))}colours(){let t=new Set;for(let e of this.plan.groups)for(let n of e.rows)for(let s of this.head.rows[n.row].
classes)t.add(s);x(this.classes,...[...t].sort((e,n)=>e-n).map(e=>a("span",{class:"key"},jt(e),this.head.classes[e])),this.head.stretch&&a("span",{class:"key"},
a("i",{class:"tl-swatch tl-waits"}),"waits for other ranks"))}restyle(){this.palette=He(),this.painter.restyle(),this.draw("lanes","heat","overlay","gutter")}scene(){
let t=this.body.scrollTop,e=this.body.clientHeight,{view:n}=this.state,s=[];if(this.state.by==="wall"){let[i,r]=Wt(this.head.steps,n);if((r-i)*40<this.width)for(let h=i;h<
r;h++)this.head.steps[h].end_ns!==0&&s.push(this.head.steps[h].start_ns)}return{view:n,width:this.width,height:e,top:t,lanes:Ee(this.plan.lanes,t,t+e),lines:s,moved:this.
alignment?.moved_ns??[],stretched:this.state.by==="stretched",palette:this.palette,found:this.found===null?null:new Set(this.found.ids)}}above(){return{view:this.
state.view,width:this.width,palette:this.palette,steps:this.head.steps,wall:this.state.by==="wall"&&this.head.steps.length>0,ribbons:this.ribbons,picked:this.state.
step}}paint(){this.frame=0;let t=performance.now(),e=this.dirty,{stats:n}=this.painter;if(this.dirty=new Set,!(!this.el.isConnected||this.body.clientHeight===0)){
if(e.has("lanes")){let s=this.scene(),{level:i,needs:r}=wt.needs(s);this.painter.paint(s);for(let u of[this.painter.canvas,this.overlay.canvas,this.strips])u.style.
height=s.height+"px";for(let u of[this.painter.canvas,this.overlay.canvas,this.strips,this.ruler.canvas,this.minimap.canvas])u.style.width=s.width+"px";let h=this.
minimap.needs(this.all,this.width);this.tiles.load(r,i,s.stretched),this.tiles.load(h.needs,h.level,!1),this.minimap.canvas.style.height=ot+"px",this.minimap.paint(
this.all,s.view,this.width,this.palette);let l=this.above(),p=D.height({wall:l.wall,ribbons:this.head.stretch});this.ruler.canvas.style.height=p+"px",this.ruler.
paint(l,p);let d=Sn(s.view);this.length.textContent!==d&&(this.length.textContent=d),this.offsets(s),this.rest(s),l.wall&&this.heat.view(...this.stepsShown()),this.
marks()}else e.has("overlay")&&this.marks();if(e.has("gutter")){wn(this.gutter,this.head,this.plan,this.state.rank,this.alignment,i=>this.turn(i)),this.gutter.style.
height=Math.max(this.plan.height,this.body.clientHeight)+"px";let s=this.state.by!=="wall"?[]:this.head.stretch?["steps","waits in collectives"]:["steps"];x(this.
legend,a("div",null,this.state.by==="stretched"?"stretched time":"time"),...s.map(i=>a("div",null,i)))}e.has("heat")&&this.heat.paint(this.palette),n.script.push(
performance.now()-t),n.script.length>4e3&&n.script.splice(0,2e3)}}stepsShown(){let[t,e]=Wt(this.head.steps,this.state.view);return e>t?[t,e-1]:[-1,-1]}marks(){let t=this.
selected,e=this.scene();this.painter.stats.overlays++,this.overlay.paint({...e,lanes:new Map(e.lanes.map(n=>[n.lane,n])),place:n=>this.shown(n),selected:t,counterparts:t===
null?[]:t.counterparts.filter(n=>n.span>=0),flows:t===null?[]:t.launch!==null?[[t.launch,t]]:t.launched.slice(0,30).map(n=>[t,n]),range:this.state.range,collective:this.
parts?.links??null,last:this.parts?.of.last_ns??0},this.pointer)}offsets(t){let e=t.stretched&&this.moved.size>0,n=this.alignment!==null&&(this.state.by==="step"||
this.state.by==="collective");if(this.strips.hidden=!e&&!n,this.strips.hidden)return;let s=e?this.moved:new Map((this.alignment?.moved_ns??[]).map((r,h)=>[h,[r]])),
i=Math.max(...[...s.values()].map(r=>Math.max(...r.map(Math.abs))),1);xn(this.strips,this.plan,t.top,t.width,t.height,s,i,this.palette.name("medium"))}rest(t){let{
t0:e,t1:n}=t.view,s=this.plan.groups.filter(r=>r.y+r.height>t.top&&r.y<t.top+t.height).map(r=>r.rank),i=JSON.stringify([e,n,this.state.by,t.stretched?s:0]);i===
this.settled||!this.head.stretch||this.state.by!=="wall"&&!t.stretched||(this.settled=i,clearTimeout(this.settle),this.rested(),et(new Promise(r=>this.rested=r)),
this.settle=window.setTimeout(()=>{this.rested();let r=Math.floor(e),h=Math.ceil(n);t.stretched?M("timeline/moved",{c:this.c,from:r,to:h,n:240,ranks:s.join(",")}).
then(p=>{this.moved=new Map(s.map((d,u)=>[d,p[u]])),this.draw("lanes")}):M("timeline/ribbons",{c:this.c,from:r,to:h,most:300}).then(l=>{this.ribbons=l.ribbons,this.
draw("lanes")})},80))}listen(){this.search.addEventListener("input",()=>this.context.store.set({q:this.search.value})),this.search.addEventListener("keydown",e=>{
e.key==="Enter"&&(e.preventDefault(),this.nextFound(e.shiftKey))}),this.body.addEventListener("scroll",()=>{this.draw("lanes"),Math.abs(this.body.scrollTop-this.
state.y)>1&&this.write()}),this.body.addEventListener("wheel",e=>this.wheel(e),{passive:!1});for(let e of[this.ruler.canvas,this.minimap.canvas])e.addEventListener(
"wheel",n=>this.wheel(n,!0),{passive:!1});this.drag(this.overlay.canvas,(e,n)=>{if(e.shiftKey||e.buttons===4)return this.pan(-e.movementX/this.width);let s=this.
time(n),i=this.time(e.offsetX);this.state.range={t0:Math.round(Math.min(s,i)),t1:Math.round(Math.max(s,i))},this.draw("overlay")},(e,n)=>{let s=this.state.range;
n?s!==null&&!e.shiftKey&&s.t1>s.t0&&this.context.store.set({r0:s.t0,r1:s.t1,sel:null},"push"):this.click(e.offsetX,e.offsetY)}),this.drag(this.ruler.canvas,e=>this.
pan(-e.movementX/this.width),(e,n)=>{n||this.clickRuler(e.offsetX,e.offsetY)}),this.ruler.canvas.addEventListener("dblclick",e=>{let n=D.stepAt(this.above(),e.offsetX,
e.offsetY);n>=0&&this.look(at(this.head,n,n),"push",{step:n})});let t=e=>{let n=this.all.t0+e.offsetX/this.width*(this.all.t1-this.all.t0),s=(this.state.view.t1-
this.state.view.t0)/2;this.look(Te({t0:n-s,t1:n+s},0,this.all))};this.drag(this.minimap.canvas,t,(e,n)=>n||t(e)),this.overlay.canvas.addEventListener("pointermo\
ve",e=>e.buttons===0&&this.hover(e.offsetX,e.offsetY)),this.overlay.canvas.addEventListener("pointerleave",()=>this.hover(-1,-1)),this.ruler.canvas.addEventListener(
"pointermove",e=>e.buttons===0&&this.hoverRuler(e.offsetX,e.offsetY)),this.ruler.canvas.addEventListener("pointerleave",()=>this.hoverRuler(-1,-1))}wheel(t,e=!1){
let n=t.deltaMode===1?16:1,s=t.deltaX*n,i=t.deltaY*n,r=t.clientX-this.overlay.canvas.getBoundingClientRect().left;if(t.ctrlKey||t.metaKey||e&&!t.shiftKey&&Math.
abs(i)>=Math.abs(s))this.zoom(Math.exp(Math.min(Math.max(i,-240),240)/300),r);else if(t.shiftKey||Math.abs(s)>Math.abs(i))this.pan((t.shiftKey&&s===0?i:s)/this.
width);else return;t.preventDefault()}drag(t,e,n){let s=NaN,i=!1;t.addEventListener("pointerdown",r=>{r.button>1||(s=r.offsetX,i=!1,t.setPointerCapture(r.pointerId))}),
t.addEventListener("pointermove",r=>{Number.isNaN(s)||(i||=Math.abs(r.offsetX-s)>4,i&&e(r,s))}),t.addEventListener("pointerup",r=>{Number.isNaN(s)||n(r,i),s=NaN}),
t.addEventListener("pointercancel",()=>s=NaN)}async click(t,e){let n=this.painter.hit(t,e);if(n===null)return this.clear();let s="rank"in n?n.rank:n.lane.rank;if("\
span"in n)return this.context.store.set({rank:s,sel:n.span,r0:null,r1:null},"push");let i=await this.ask(n,this.time(t-1),this.time(t+2));i===null?this.clear():
this.context.store.set({rank:s,sel:i.span,r0:null,r1:null},"push")}clickRuler(t,e){let n=this.above(),s=D.stepAt(n,t,e),i=D.ribbonAt(n,t,e);if(s>=0){let r=this.
head.steps[s];this.context.store.set({step:s,r0:r.start_ns,r1:r.end_ns,sel:null},"push")}else if(i!==null){let r=Math.max(i.last_ns-i.first_ns,i.end_ns-i.last_ns,
1e3);this.state.view=Nt({t0:i.last_ns-1.5*r,t1:i.last_ns+.8*r},i.late.start_ns,0,this.all),this.go(i.late)}}hover(t,e){let n=t<0?null:this.painter.hit(t,e);if(this.
pointer={x:t,y:e,box:n!==null&&"span"in n?{x0:n.x0,x1:n.x1,lane:n.lane}:null},this.parts!==null&&t>=0&&(this.parts=null),this.marks(),n===null)return A();if("sp\
an"in n)this.tipSpan(n,t,e);else{let{class:s,covered:i}=this.painter.classAt(n,t);s===0?A():C(this.overlay.canvas,t,e,{title:this.head.classes[s],rows:[["busy h\
ere",_(Math.round(i*100)/100)],["","a click selects the longest span"]]})}}tipSpan(t,e,n){let s=this.head.rows[t.lane.row],{view:i}=this.state,r=(t.x1-t.x0)/this.
width*(i.t1-i.t0),h=[[this.head.ranks[s.rank],s.name],["what",this.head.classes[t.class]??""]];this.state.by!=="stretched"&&h.push(["duration",g(Math.round(r))]),
C(this.overlay.canvas,e,n,{title:this.names.get(t.name),rows:h})}hoverRuler(t,e){let n=this.above(),s=t<0?null:D.ribbonAt(n,t,e),i=t<0?-1:D.stepAt(n,t,e);if(s!==
null)C(this.ruler.canvas,t,e,Cn(s,this.head.ranks[s.late.rank])),this.parts?.of!==s&&(this.parts={of:s,links:[]},M("timeline/parts",{c:this.c,domain:s.domain,index:s.
index}).then(r=>{this.parts?.of===s&&(this.parts.links=r),this.draw("overlay")}));else{this.parts=null;let r=this.head.steps[i];r===void 0?A():C(this.ruler.canvas,
t,e,{title:`step ${i}, ${r.kind}`,rows:[["name",r.name],["all ranks",g(r.end_ns-r.start_ns)]]})}this.draw("overlay")}close(){clearTimeout(this.timer),clearTimeout(
this.settle),this.written(),this.rested(),cancelAnimationFrame(this.frame),this.watch.disconnect(),A()}},Ie=class{el=a("div",null);view=null;closed=!1;constructor(t){
M("timeline/head",{c:t.store.params.c}).then(e=>{this.closed||(this.view=new ze(t,e),this.el.replaceChildren(this.view.el),this.view.draw("lanes","heat","gutter"))})}update(t,e){
this.view?.update(t,e)}restyle(){this.view?.restyle()}close(){this.closed=!0,this.view?.close()}},Nn={id:"timeline",title:"Timeline",needs:"capture",open:o=>new Ie(
o)};function _s(o,t,e){let n=e.startsWith("-"),s=t.find(h=>h.id===(n?e.slice(1):e)),i=o.slice();if(!s)return i;let r=n?-1:1;if(s.num){let h=s.num.bind(s);return i.sort(
(l,p)=>{let d=h(l),u=h(p);return Number.isNaN(d)||Number.isNaN(u)?Number(Number.isNaN(d))-Number(Number.isNaN(u)):r*(d-u)})}return i.sort((h,l)=>r*s.text(h).localeCompare(
s.text(l),"en"))}function Rs(o,t,e){let n=e.toLowerCase().split(/\s+/).filter(s=>s!=="");return o.filter(s=>{let i=t(s).toLowerCase();return n.every(r=>i.includes(
r))})}function Be(o){return o.map(t=>{if(typeof t=="number")return Number.isFinite(t)?String(t):"";let e=/^[=+\-@\t\r]/.test(t)?"'"+t:t;return/[",\r\n]/.test(e)?
'"'+e.replace(/"/g,'""')+'"':e}).join(",")+`\r
`}function Hn(o,t,e){let n=URL.createObjectURL(new Blob([e],{type:t}));a("a",{href:n,download:o}).click(),setTimeout(()=>URL.revokeObjectURL(n),1e4)}var Es=100,
Gt=class{constructor(t,e,n,s,i,r){this.store=t;this.columns=n;this.usual=s;this.key=i;this.onpick=r;this.el.setAttribute("aria-label",e)}store;columns;usual;key;onpick;el=a(
"div",{class:"table",role:"region",tabindex:"0"});rows=[];shown(){let{q:t="",sort:e=this.usual}=this.store.params;return _s(Rs(this.rows,this.key,t),this.columns,
e)}set(t,e=this.columns){this.rows=t,this.columns=e,this.draw()}draw(){let{sort:t=this.usual,sel:e,all:n}=this.store.params,s=this.shown(),i=n==="1"?s:s.slice(0,
Es),r=a("tr",null,...this.columns.map(l=>{let p=t.replace(/^-/,"")===l.id,d=t.startsWith("-"),u=p?d?l.id:"-"+l.id:l.num?"-"+l.id:l.id;return a("th",{scope:"col",
class:(l.num?"r ":"")+(l.class??""),"aria-sort":p?d?"descending":"ascending":null,title:l.help},a("button",{on:{click:()=>this.store.set({sort:u===this.usual?null:
u})}},l.title,p&&a("span",{"aria-hidden":"true"},d?" ▾":" ▴")))})),h=i.map(l=>{let p=a("tr",{class:e!==void 0&&this.key(l)===e?"selected":null},...this.columns.
map(d=>a("td",{class:(d.num?"r ":"")+(d.class??"")},d.cell?d.cell(l):d.text(l))));return this.onpick&&p.addEventListener("click",d=>d.target.closest("a, button")===
null&&this.onpick(l)),p});x(this.el,a("table",null,a("thead",null,r),a("tbody",null,...h))),s.length===0&&this.el.append(a("p",{class:"none"},this.rows.length===
0?"There is nothing of this.":"Nothing has these words.")),s.length>i.length&&this.el.append(a("button",{class:"more button",on:{click:()=>this.store.set({all:"\
1"})}},`Show all ${s.length}`))}};function U(o,t){return o.total[t]/Math.max(o.steps,1)}function Yt(o,t){return o.other[t]/Math.max(o.other_steps,1)}function $n(o){let t=o.parent.length,e=o.other.
length>0,n={first:new Int32Array(t),last:new Int32Array(t),weight:new Float64Array(t),depth:new Int32Array(t)};for(let i=1;i<t;i++){let r=o.parent[i];n.last[r]===
0&&(n.first[r]=i),n.last[r]=i+1,n.depth[i]=n.depth[r]+1}let s=new Float64Array(t);for(let i=t-1;i>=0;i--)n.weight[i]=Math.max(U(o,i),e?Yt(o,i):0,s[i]),i>0&&(s[o.
parent[i]]+=n.weight[i]);return n}function On(o,t,e,n){let s=[],i=t.weight[e];if(!(i>0))return s;let r=[{node:e,depth:0,x:0,w:1}];for(let h=r.pop();h;h=r.pop()){
s.push(h);let l=h.x;for(let p=t.first[h.node];p<t.last[h.node];p++){if(o.parent[p]!==h.node)continue;let d=t.weight[p]/i;d>=n&&r.push({node:p,depth:h.depth+1,x:l,
w:d}),l+=d}}return s}function zn(o,t){let e=0;for(;t.last[e]-t.first[e]===1&&!o.kernel[t.first[e]]&&t.weight[t.first[e]]>=.98*t.weight[e];)e=t.first[e];return e}
function Qt(o,t){let e=[];for(;t>0;t=o.parent[t])e.push(t);return e.reverse()}function In(o,t){let e=U(o,t),n=Yt(o,t),s=Math.max(e,n);return s>0?(e-n)/s:0}var W=19,As=60;function Ls([o,t,e]){let[n,s,i]=[o,t,e].map(r=>r/255<=.03928?r/255/12.92:Math.pow((r/255+.055)/1.055,2.4));return .2126*n+.7152*s+.0722*i>.179?"#\
000000":"#ffffff"}var Jt=class{constructor(t){this.onpick=t;this.sizes.observe(this.el),this.ground.addEventListener("pointermove",e=>this.point(this.hit(e.offsetX,
e.offsetY),e.offsetX,e.offsetY)),this.ground.addEventListener("pointerleave",()=>this.point(-1)),this.ground.addEventListener("blur",()=>this.point(-1)),this.ground.
addEventListener("click",e=>{let n=this.hit(e.offsetX,e.offsetY);n>=0&&this.onpick(this.drawn[n].node)}),this.ground.addEventListener("keydown",e=>this.key(e.key)&&
(e.preventDefault(),e.stopPropagation()))}onpick;el=a("div",{class:"flame"});ground=this.el.appendChild(a("canvas",{tabindex:"0",role:"img"}));over=this.el.appendChild(
a("canvas",{class:"over","aria-hidden":"true"}));flame=null;tree=null;drawn=[];focus=0;at=-1;lit=()=>!1;sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.
draw()));set(t,e){this.flame=t,this.tree=$n(t),this.zoom(e)}get walk(){return this.tree}zoom(t){this.focus=this.flame&&t<this.flame.parent.length?t:0,this.at=-1,
this.draw()}light(t){this.lit=t,this.draw()}drop(){this.sizes.disconnect(),A()}hit(t,e){let n=this.ground.clientWidth,s=Math.floor(e/W);return this.drawn.findIndex(
i=>i.depth===s&&t>=i.x*n&&t<(i.x+i.w)*n)}draw(){let t=this.flame,e=this.tree,n=this.el.clientWidth,s=window.devicePixelRatio||1;if(!t||!e||n===0)return;this.drawn=
On(t,e,this.focus,.7/n).filter(p=>p.depth<As);let i=(this.drawn.reduce((p,d)=>Math.max(p,d.depth),0)+1)*W;for(let p of[this.ground,this.over])p.style.height=i+"\
px",p.width=Math.round(n*s),p.height=Math.round(i*s);this.el.style.height=i+"px",this.ground.setAttribute("aria-label",`Flame graph of ${t.names[t.name[this.focus]]||
"all work"}: arrows move, Enter zooms in, Escape out`);let r=this.ground.getContext("2d");if(!r)return;r.setTransform(s,0,0,s,0,0),r.font="11px system-ui, sans-\
serif",r.textBaseline="middle";let h=V(),l=new Map;for(let p of this.drawn){let d=this.colorOf(t,p.node),u=l.get(d);if(!u){let v=d.startsWith("=")?this.difference(
h,Number(d.slice(1))):L(h(d));l.set(d,u=[`rgb(${v.join()})`,Ls(v)])}let f=p.x*n,c=p.w*n,m=p.depth*W;r.fillStyle=u[0],r.fillRect(f,m,Math.max(c-(c>4?1:0),.5),W-1);
let b=t.names[t.name[p.node]]||"all";this.lit(t.full[t.name[p.node]]||b)&&(r.fillStyle=h("mark"),r.fillRect(f,m+W-4,Math.max(c-1,1),3)),!(c<40)&&(r.fillStyle=u[1],
r.fillText(Cs(r,b,c-8),f+4,m+W/2))}this.mark()}colorOf(t,e){if(t.other.length>0)return"="+Math.round(In(t,e)*10)/10;if(t.parent[e]<0)return"idle";let n=t.class[t.
name[e]]||t.class[t.name[t.parent[e]]];return n?n.toLowerCase():Ps(t,e)%2?"between":"idle"}difference(t,e){return e>=0?q([L(t("cold")),L(t("warm")),L(t("high"))],
e):q([L(t("cold")),L(t("under"))],-e)}point(t,e,n){this.at=t,this.mark();let s=this.drawn[t],i=this.flame;if(!s||!i)return A();C(this.ground,e??s.x*this.ground.
clientWidth+10,n??(s.depth+.5)*W,{title:i.full[i.name[s.node]]||i.names[i.name[s.node]]||"all work",rows:this.facts(i,s.node)})}facts(t,e){let n=[["GPU time per\
 step",g(U(t,e))],["of all",_(U(t,e)/Math.max(U(t,0),1e-9))],["kernels per step",String(Number((t.count[e]/Math.max(t.steps,1)).toPrecision(4)))]];if(t.other.length>
0){let s=Yt(t,e);n.push(["in the other capture",g(s)],["difference",E(U(t,e)-s)+(s>0?`, ${U(t,e)>=s?"+":""}${_(U(t,e)/s-1)}`:"")])}return n}mark(){let t=this.over.
getContext("2d"),e=window.devicePixelRatio||1,n=this.drawn[this.at];if(!t||(t.setTransform(e,0,0,e,0,0),t.clearRect(0,0,this.over.width,this.over.height),!n))return;
t.strokeStyle=V()("mark"),t.lineWidth=2;let s=this.ground.clientWidth;t.strokeRect(n.x*s+1,n.depth*W+1,Math.max(n.w*s-3,1),W-3)}key(t){let e=this.flame;if(!e||this.
drawn.length===0)return!1;let n=this.drawn[this.at]??null,s=(i,r)=>{let h=n?n.x+n.w/2:0,l=-1,p=1/0;return this.drawn.forEach((d,u)=>{let f=d.x+d.w/2,c=r===0?Math.
max(d.x-h,h-(d.x+d.w),0):r*(f-h);d.depth===i&&d!==n&&c>=0&&c<p&&(l=u,p=c)}),l};switch(t){case"ArrowDown":case"ArrowUp":case"ArrowLeft":case"ArrowRight":{let i=n?
n.depth+(t==="ArrowDown"?1:t==="ArrowUp"?-1:0):0,r=s(i,t==="ArrowLeft"?-1:t==="ArrowRight"?1:0);return r>=0&&this.point(r),!0}case"Enter":return n?(this.onpick(
n.node),!0):!1;case"Escape":{let i=Qt(e,this.focus).at(-2)??0;return this.focus===0?!1:(this.onpick(i),!0)}}return!1}};function Ps(o,t){let e=0;for(;o.parent[t]>=
0;t=o.parent[t])e++;return e}function Cs(o,t,e){if(o.measureText(t).width<=e)return t;let n=0,s=t.length;for(;n<s;){let i=n+s+1>>1;o.measureText(t.slice(0,i)+"…").
width<=e?n=i:s=i-1}return n>1?t.slice(0,n)+"…":""}var Zt={kernel:{title:"Kernel",one:"kernel"},class:{title:"Class",one:"class of kernels"},op:{title:"Op",one:"CPU op"},layer:{title:"Layer",one:"layer or module"},
frame:{title:"Python",one:"Python function"}},qs=["c","by","rank","kind","vs"],Fe=class{constructor(t){this.context=t;let{store:e,keys:n}=t;this.table=new Gt(e,
"GPU work",[],"-total",s=>s.full||s.name,s=>{let i=s.full||s.name;e.set({sel:e.params.sel===i?null:i})}),this.search.addEventListener("input",()=>e.set({q:this.
search.value,all:null})),n.bind("/","Kernels","filter",()=>this.search.focus()),n.bind("g","Kernels","by another group",()=>{let s=this.offered();this.choose({by:s[(s.
indexOf(this.by())+1)%s.length]})}),n.bind("Escape","Kernels","zoom out, let go",()=>{e.params.sel!==void 0?e.set({sel:null}):e.set({node:null,q:null})}),n.bind(
"c","Kernels","save the table as CSV",()=>this.csv()),x(this.el,this.tools,this.crumbs,this.graph.el,a("p",{class:"keys under-flame"}),this.table.el),this.head(),
this.ask()}context;el=a("div",{class:"kernels"});graph=new Jt(t=>this.context.store.set({node:t===0?null:t},"push"));table;crumbs=a("p",{class:"crumbs"});tools=a(
"div",{class:"tools"});found=a("span",{class:"soft",role:"status"});search=a("input",{type:"search",placeholder:"Filter","aria-label":"Filter"});rows=null;flame=null;asking=new AbortController;offered(){
let t=this.context.capture?.groups??["kernel","class","op"];return Object.keys(Zt).filter(e=>t.includes(e))}by(){let{by:t}=this.context.store.params,e=this.offered();
return t!==void 0&&e.includes(t)?t:e[0]}choose(t){this.context.store.set({node:null,sel:null,all:null,...t})}head(){let{session:t,capture:e,store:n}=this.context,
s=n.params,i=this.by(),r=a("select",{"aria-label":"Steps of kind",on:{change:()=>this.choose({kind:r.value})}},a("option",{value:""},"all steps"),...(e?.kinds??
[]).map(u=>a("option",{value:u},u)));r.value=s.kind??"";let h=a("select",{"aria-label":"Rank",on:{change:()=>this.choose({rank:h.value})}},a("option",{value:""},
"all ranks"),...(e?.ranks??[]).map((u,f)=>a("option",{value:String(f)},u)));h.value=s.rank??"";let l="a run",p=t.captures.filter(u=>u.id!==(s.c??t.captures[0]?.
id)),d=a("select",{"aria-label":"Compared with",on:{change:()=>d.value===l?n.go(P(s,{tab:"runs"})):this.choose({vs:d.value})}},a("option",{value:""},s.vs===void 0?
"compare with …":"compare with nothing"),...p.map(u=>a("option",{value:u.id},"against "+u.title)));s.vs!==void 0&&!p.some(u=>u.id===s.vs)&&d.append(a("option",
{value:s.vs},"against "+s.vs)),t.runs&&d.append(a("option",{value:l},"a run of the list …")),d.value=s.vs??"",document.activeElement!==this.search&&(this.search.
value=s.q??""),x(this.tools,a("span",{role:"group","aria-label":"By"},...this.offered().map(u=>a("button",{class:"choice","aria-pressed":String(u===i),title:"by\
 "+Zt[u].one,on:{click:()=>this.choose({by:u===this.offered()[0]?null:u})}},Zt[u].title))),(e?.kinds.length??0)>1&&r,(e?.ranks.length??0)>1&&h,d.options.length>
1&&d,a("span",{class:"space"}),this.found,this.search,a("button",{class:"button",title:"Save the rows as they are shown (key: c)",on:{click:()=>this.csv()}},"CS\
V"))}ask(){this.asking.abort(),this.asking=new AbortController;let{signal:t}=this.asking,e=this.context.store.params,n={c:e.c,by:this.by(),rank:e.rank,kind:e.kind,
vs:e.vs};Promise.all([M("kernels",n,t),M("flame",{...n,by:n.by==="kernel"?"class":n.by},t)]).then(([i,r])=>{this.rows=i,this.flame=r,this.show()}).catch(i=>{if(!t.
aborted)throw i})}columns(t){let e=c=>c/Math.max(t.steps,1),n=c=>c/Math.max(t.other_steps,1),s=this.by(),i=s==="kernel",r=s!=="kernel"&&s!=="class",h=t.other_steps>
0,l=this.context.store,p=t.rows.reduce((c,m)=>Math.max(c,e(m.total_ns),n(m.other_total_ns)),1e-9),d=c=>c>0&&c<.01?"< 0.01":Number.isInteger(c)?T(String(c)):ft(c),
u={id:"name",title:Zt[s].title,class:"name",text:c=>c.full||c.name,cell:c=>a("span",{class:"named"},c.class!==""&&Ns(c.class),a("code",{title:c.full||c.name},c.
name),i&&a("a",{class:"find",href:N(P(l.params,{tab:"timeline",q:c.full||c.name})),title:"Find it in the timeline"},"find"))},f=(c,m)=>c>0?m:"";if(h){let c=m=>m.
other_total_ns>0?e(m.total_ns)/n(m.other_total_ns)-1:NaN;return[u,{id:"total",title:"this",help:"GPU time of a step, on the mean over ranks",num:m=>e(m.total_ns),
text:m=>f(m.total_ns,g(e(m.total_ns)))},{id:"other",title:"other",help:"the same in the other capture",num:m=>n(m.other_total_ns),text:m=>f(m.other_total_ns,g(n(
m.other_total_ns)))},{id:"diff",title:"difference",help:"of a step",num:m=>Math.abs(e(m.total_ns)-n(m.other_total_ns)),text:m=>E(e(m.total_ns)-n(m.other_total_ns)),
cell:m=>$s(e(m.total_ns)-n(m.other_total_ns),p)},{id:"change",title:"change",num:c,text:m=>m.other_total_ns===0?"new":m.total_ns===0?"gone":(c(m)>0?"+":"")+_(c(
m))},{id:"count",title:"kernels",help:"of a step and rank",num:m=>m.count/Math.max(t.steps,1),text:m=>d(m.count/Math.max(t.steps,1))},{id:"count2",title:"other",
num:m=>m.other_count/Math.max(t.other_steps,1),text:m=>d(m.other_count/Math.max(t.other_steps,1))},...i?[{id:"median",title:"median",num:m=>m.median_ns,text:m=>f(
m.median_ns,g(m.median_ns))},{id:"median2",title:"other",num:m=>m.other_median_ns,text:m=>f(m.other_median_ns,g(m.other_median_ns))}]:[]]}return[u,{id:"total",title:"\
per step",help:"GPU time of a step, on the mean over ranks"+(r?", with what is inside":""),num:c=>c.total_ns,text:c=>g(e(c.total_ns))},...r?[{id:"self",title:"o\
wn",help:"launched by it and by nothing inside it",num:c=>c.self_ns,text:c=>f(c.self_ns,g(e(c.self_ns)))}]:[],{id:"share",title:"share",num:c=>c.total_ns,text:c=>_(
c.total_ns/Math.max(t.total_ns,1)),class:"share",cell:c=>Hs(c,e(c.total_ns)/p,c.total_ns/Math.max(t.total_ns,1))},{id:"count",title:"kernels",help:"of a step an\
d rank",num:c=>c.count,text:c=>d(c.count/Math.max(t.steps,1))},...i?[{id:"median",title:"median",num:c=>c.median_ns,text:c=>g(c.median_ns)},{id:"p99",title:"p99",
num:c=>c.p99_ns,text:c=>g(c.p99_ns)},{id:"max",title:"longest",num:c=>c.max_ns,text:c=>g(c.max_ns)},{id:"spread",title:"over ranks",help:"by how much the slowes\
t rank's median is above the fastest's",num:c=>c.rank_spread,text:c=>c.rank_spread>=.005?"+"+_(c.rank_spread):""},...t.rows.some(c=>c.tflop_s>0)?[{id:"tflops",title:"\
TFLOP/s",num:c=>c.tflop_s,text:c=>f(c.tflop_s,d(c.tflop_s))}]:[],...t.rows.some(c=>c.gb_s>0)?[{id:"gbs",title:"GB/s",num:c=>c.gb_s,text:c=>f(c.gb_s,d(c.gb_s))}]:
[]]:[]]}show(){!this.rows||!this.flame||(this.table.set(this.rows.rows,this.columns(this.rows)),this.graph.set(this.flame,0),this.legend(),this.zoom(),this.light())}zoom(){
let t=this.flame,e=this.graph.walk;if(!t||!e)return;let n=R(this.context.store.params,"node",-1),s=n>=0&&n<t.parent.length?n:zn(t,e);this.graph.zoom(s);let{store:i}=this.
context,r=Qt(t,s),h=(d,u)=>a("a",{href:N({...i.params,node:String(d)})},u),l=d=>t.names[t.name[d]],p=this.rows.total_ns/Math.max(this.rows.steps,1);if(r.length===
0)return x(this.crumbs,`${g(p)} of GPU time per step and rank, over ${T(String(this.rows.steps))} steps of all ranks together`);x(this.crumbs,h(0,"all"),...r.flatMap(
(d,u)=>r.length>6&&u>=2&&u<r.length-3?u===2?[" › ",a("span",{title:r.slice(2,-3).map(l).join(" › ")},"…")]:[]:[" › ",d===s?a("b",null,l(d)):h(d,l(d))]))}light(){
let{sel:t,q:e=""}=this.context.store.params,n=e.toLowerCase().split(/\s+/).filter(i=>i!=="");this.graph.light(i=>t!==void 0?i===t:n.length>0&&n.every(r=>i.toLowerCase().
includes(r)));let s=this.table.shown().length;x(this.found,this.rows&&e!==""&&`${s} of ${this.rows.rows.length}`)}legend(){let t=this.flame,e=t.other.length>0,n=[
...new Set(t.class.filter(s=>s!==""))];x(this.el.querySelector(".under-flame"),...e?[$("--under","shorter here"),$("--cold","the same"),$("--high","longer here,\
 or new")]:n.map(s=>$("--"+s.toLowerCase(),s)),t.left_out>0&&a("span",null,`${T(String(t.left_out))} parts are too small to be seen`))}csv(){if(!this.rows)return;
let t=this.columns(this.rows),e=this.context.capture?.title??"capture",n=i=>["total","self","other","diff","median","median2","p99","max"].includes(i.id)?" (ns)":
"",s=[Be([...t.map((i,r)=>(i.title==="other"&&r>0?t[r-1].title+", other":i.title)+n(i)),"class"]),...this.table.shown().map(i=>Be([...t.map(r=>r.id==="diff"?i.total_ns/
Math.max(this.rows.steps,1)-i.other_total_ns/Math.max(this.rows.other_steps,1):this.value(r,i)),i.class]))];Hn(`${e.replace(/[^\w.-]+/g,"_")}-${this.by()}.csv`,
"text/csv",s.join(""))}value(t,e){if(!t.num)return t.text(e);let n=t.num(e),s=this.rows.other_steps>0?1:Math.max(this.rows.steps,1);return t.id==="share"?n/Math.
max(this.rows.total_ns,1):["total","self","count"].includes(t.id)?n/s:n}update(t,e){let n=s=>s.some(i=>t[i]!==e[i]);if(this.head(),n(qs))return this.ask();n(["n\
ode"])&&this.zoom(),n(["sel","q"])&&this.light(),n(["sel","q","sort","all"])&&this.table.draw()}restyle(){this.graph.draw()}close(){this.asking.abort(),this.graph.
drop()}};function Ns(o){return a("i",{class:"swatch s-"+o.toLowerCase().replace(/[^a-z]/g,"-"),title:o})}function Hs(o,t,e){let n=a("i",{class:"s-"+(o.class||"s\
hare").toLowerCase().replace(/[^a-z]/g,"-")});return n.style.width=Math.max(t*100,.5)+"%",a("span",{class:"part"},a("span",{class:"bar","aria-hidden":"true"},n),
a("span",null,_(e)))}function $s(o,t){let e=a("i",{class:o>0?"more-time":"less-time"});return e.style.width=Math.min(Math.abs(o)/t,1)*50+"%",a("span",{class:"pa\
rt"},a("span",{class:"bar two","aria-hidden":"true"},e),a("span",null,E(o)))}var Bn={id:"kernels",title:"Kernels",needs:"capture",open:o=>new Fe(o)};function Fn(o){let t=new Map;for(let e of(o??"").split("|")){let n=e.replaceAll("%7C","|").replaceAll("%25","%"),s=n.lastIndexOf("=");s>0&&t.set(n.slice(0,s),n.
slice(s+1))}return t}function De(o){let t=je(o).map(e=>e.replaceAll("%","%25").replaceAll("|","%7C"));return t.length>0?t.join("|"):null}function je(o){return[...o].
map(([t,e])=>t+"="+e)}function Ue(o,t,e){let n=new Map(o);return n.delete(t),e!=="1"&&n.set(t,e),n}function xt(o,t){return o===""?t:o+"."+t}function We(o){return o===
"peers"?"as its peers":o==="0"?"gone":Number(o)===1?"as it is":"× "+Number(o)}var Os={host:["Hosts","time of host threads before and after launches"],device:["Kernels","time of all kernels and copies, without waiting"],collective:["Transf\
ers","time of collectives once all ranks have come"],gap:["Gaps","time on the device that nothing explains"]},zs=2,Is=.05,Ke=class{constructor(t){this.context=t;
t.keys.bind("0","What if","as it was",()=>t.store.set({set:null})),x(this.el,this.panel,this.outcome),this.ask()}context;el=a("div",{class:"whatif"});panel=a("s\
ection",{class:"panel","aria-label":"What is otherwise"});outcome=a("section",{class:"outcome","aria-label":"What steps would take","aria-live":"polite"});plots=[];answer=null;asking=new AbortController;later=0;settings(){
return Fn(this.context.store.params.set)}rank(){let{rank:t}=this.context.store.params;return t===void 0?"":this.context.capture?.ranks[Number(t)]??""}ask(){this.
asking.abort(),this.asking=new AbortController;let{signal:t}=this.asking;M("whatif",{c:this.context.store.params.c,set:je(this.settings())},t).then(e=>{let n=this.
answer===null;this.answer=e,n&&this.controls(),this.show()}).catch(e=>{if(!t.aborted)throw e})}set(t,e){clearTimeout(this.later),this.later=window.setTimeout(()=>{
let n=this.context.session.exported?new Map:this.settings();this.context.store.set({set:De(Ue(n,t,e))})},this.context.session.exported?0:60)}controls(){let t=this.
answer,{capture:e,session:n,store:s}=this.context,i=e?.ranks??[],r=a("select",{"aria-label":"Of rank",on:{change:()=>s.set({rank:r.value})}},a("option",{value:""},
"of all ranks"),...i.map((l,p)=>a("option",{value:String(p)},"of "+l)));r.value=s.params.rank??"";let h=t.parts.filter(l=>l.id.startsWith("class:")).sort((l,p)=>p.
share-l.share);x(this.panel,a("h2",null,"What is otherwise"),i.length>1&&a("p",null,r),...t.parts.filter(l=>!l.id.startsWith("class:")).map(l=>this.slider(l)),a(
"h3",null,"Kernels by class"),...h.map(l=>this.slider(l)),a("p",{class:"actions"},a("button",{class:"button",on:{click:()=>s.set({set:null})}},"As it was")),n.exported&&
a("p",{class:"note"},"This page has answers to one change at a time, in steps of a quarter; stepscope view has all.")),this.place()}slider(t){let[e,n]=Os[t.id]??
[t.id.slice(6).replaceAll("_"," "),"time of kernels of this class"],s=this.context.session.exported?.25:Is,i=a("input",{type:"range",min:"0",max:String(this.context.
session.exported?1:zs),step:String(s),id:"set-"+t.id,data:{part:t.id}});i.addEventListener("input",()=>{this.say(t.id,i.value),this.set(xt(this.rank(),t.id),i.value)});
let r=t.peers&&a("button",{class:"peers choice-one",data:{peers:t.id},title:"as the median of the other ranks",on:{click:()=>this.set(xt(this.rank(),t.id),this.
settings().get(xt(this.rank(),t.id))==="peers"?"1":"peers")}},"as peers");return a("div",{class:"slider"},a("label",{for:"set-"+t.id,title:n},e),a("span",{class:"\
path",title:"of the critical path"},t.share>=5e-4?_(t.share):""),a("output",{for:"set-"+t.id,data:{said:t.id}}),i,r)}say(t,e){let n=this.panel.querySelector(`[d\
ata-said="${CSS.escape(t)}"]`);n&&x(n,We(e))}place(){let t=this.settings(),e=this.rank();for(let n of this.panel.querySelectorAll("[data-part]")){let s=n.dataset.
part,i=t.get(xt(e,s))??"1";(document.activeElement!==n||i==="1")&&(n.value=i==="peers"?"1":i),this.say(s,i);let r=this.panel.querySelector(`[data-peers="${CSS.escape(
s)}"]`);r&&(r.disabled=e==="",r.ariaPressed=String(i==="peers"))}}show(){let t=this.answer,{store:e,capture:n}=this.context;for(let l of this.plots.splice(0))l.
drop();let s=[...this.settings()],i=s.map(([l,p])=>a("button",{class:"chip",title:"as it was",on:{click:()=>e.set({set:De(Ue(this.settings(),l,"1"))})}},l," ",a(
"b",null,We(p))," ×"));if(!t.known){x(this.outcome,a("h2",null,"What steps would take"),a("p",{class:"caveat"},a("strong",null,"Unknown: "),t.why+"."),a("p",{class:"\
note"},"Nothing is said where the steps cannot be run again as they were recorded."));return}let r=t.lengths.length>1,h=l=>r?", "+l.map(p=>n?.ranks[p]??"#"+p).join(
" "):"";x(this.outcome,a("h2",null,s.length===0?"Steps as they are: move a slider":"What steps would take if ",...i),a("div",{class:"cards"},...t.rows.map(l=>Bs(
l,h(l.ranks)))),...t.lengths.flatMap(l=>l.steps.length===0?[]:[a("figure",null,a("figcaption",null,a("span",null,"Length of each step"+h(l.ranks))),a("canvas",{
tabindex:"0",role:"img","aria-label":"Lengths of steps, as they were and as they would be"}),a("p",{class:"keys"},$("--idle","as recorded"),$("--share","as they\
 would be")))]),a("p",{class:"note"},`The steps are run again from how long everything took and what it waited for. With nothing changed they come out ${_(t.off_median)}\
 off what was recorded (90th percentile ${_(t.off_p90)}). ${_(t.unexplained)} of the critical path are gaps that nothing explains: they stay. Batches, schedules\
 and clocks of the device stay as they were, too.`),t.command!==""&&a("p",{class:"note"},"The same on a command line: ",a("code",{class:"command"},t.command)));
for(let[l,p]of this.outcome.querySelectorAll("canvas").entries()){let d=new Ve(p,t.lengths.filter(u=>u.steps.length>0)[l]);this.plots.push(d),d.draw()}}update(t,e){
this.answer&&(t.rank!==e.rank?this.controls():this.place(),t.set!==e.set&&this.ask())}restyle(){for(let t of this.plots)t.draw()}close(){clearTimeout(this.later),
this.asking.abort();for(let t of this.plots.splice(0))t.drop();A()}};function Bs(o,t){let e=o.without_ns/Math.max(o.step_ns,1)-1,n=Math.abs(e)<5e-4;return a("di\
v",{class:"card"},a("span",{class:"name"},`${o.kind} step${t}`),a("b",null,g(o.step_ns),!n&&" → ",!n&&g(o.without_ns)),a("span",{class:n?"soft":e<0?"better":"\
worse"},n?"unchanged":(e>0?"+":"")+_(e)),!n&&a("span",{class:"soft"},`${g(o.without_low_ns)} to ${g(o.without_high_ns)} (95 %, ${o.steps} steps)`),o.tokens_per_s>
0&&a("span",{class:"soft"},`${Dn(o.tokens_per_s)}${n?"":" → "+Dn(o.without_tokens_per_s)} output tokens/s`))}function Dn(o){return T(String(Math.round(o)))}var Ve=class extends I{constructor(e,n){
super(e,260);this.lengths=n;let s=i=>{let r=this.area(),h=Math.floor((i.offsetX-r.x)/r.w*n.steps.length);this.point(h>=0&&h<n.steps.length?h:-1,i.offsetX,i.offsetY)};
e.addEventListener("pointermove",s),e.addEventListener("pointerleave",()=>this.point(-1)),e.addEventListener("blur",()=>this.point(-1)),e.addEventListener("keyd\
own",i=>{let r=i.key==="ArrowRight"?1:i.key==="ArrowLeft"?-1:0;r!==0&&(this.point(Math.min(Math.max(this.at+r,0),n.steps.length-1)),i.preventDefault())})}lengths;at=-1;point(e,n,s){
if(this.at=e,this.again(),e<0)return A();let i=this.lengths,r=this.area(),h=i.would[e]/i.was[e]-1;C(this.canvas,n??r.x+(e+.5)/i.steps.length*r.w,s??20,{title:"s\
tep "+i.steps[e],rows:[["was",g(i.was[e])],["would be",g(i.would[e])],["change",(h>0?"+":"")+_(h)]]})}paint(e){let{ctx:n,area:s,color:i}=e,r=this.lengths,h=r.steps.
length,l=1;for(let m=0;m<h;m++)l=Math.max(l,r.was[m],r.would[m]);l*=1.05,this.yAxis(e,l,g);let p=s.w/h,d=p>=5?1:0,u=(m,b,v)=>{n.fillStyle=i(v);for(let w=0;w<h;w++){
let y=m[w]/l*s.h;n.fillRect(s.x+w*p+b,s.y+s.h-y,Math.max(p-d-2*b,.6),y)}};u(r.was,0,"idle"),u(r.would,p>=12?p*.18:0,"share"),n.fillStyle=i("soft"),n.textAlign="\
center",n.textBaseline="top";let f=K(h,Math.max(s.w/70,2)),c=Math.max(Math.round(f.length>1?f[1]:1),1);for(let m=0;m<h;m++)r.steps[m]%c===0&&n.fillText(String(r.
steps[m]),s.x+(m+.5)*p,s.y+s.h+6)}mark({ctx:e,area:n,color:s}){if(this.at<0)return;let i=n.w/this.lengths.steps.length;e.strokeStyle=s("mark"),e.strokeRect(n.x+
this.at*i+.5,n.y+.5,Math.max(i-1,1),n.h-1)}},jn={id:"whatif",title:"What if",needs:"capture",open:o=>new Ke(o)};var Y=class extends X{constructor(e,n,s,i,r=!0){super(e,n,{kinds:[],grid:{cols:s.running.length}},i,64,r?28:6);this.bench=s;this.axis=r}bench;axis;fine=null;at(e,n){
return this.x(e/this.bench.bin_ns,n)}sight(){return{from:this.view.lo*this.bench.bin_ns,to:this.view.hi*this.bench.bin_ns}}whenClicked(e){let n=NaN;this.canvas.
addEventListener("pointerdown",s=>n=s.offsetX),this.canvas.addEventListener("click",s=>{Math.abs(s.offsetX-n)<=8&&e(s.offsetX,s.offsetY)})}when(e,n){return this.
bench.at[e]+(this.bench.at_once?Math.max(n[e],0):0)}shade({ctx:e,area:n,color:s}){for(let[i,r,h]of[[this.bench.steady,"info",.1],[this.bench.profiled,"k3",.15]]){
e.fillStyle=s(r),e.globalAlpha=h;for(let l of i){let p=Math.max(this.at(l.from,n),n.x),d=Math.min(this.at(l.to,n),n.x+n.w);d>p&&e.fillRect(p,n.y,d-p,n.h)}e.globalAlpha=
1}}xAxis({ctx:e,area:n,color:s}){if(!this.axis)return;let i=this.bench.bin_ns,r=this.view.lo*i,h=this.view.hi*i,l=K(h-r,Math.max(n.w/110,2)),p=l.length>1?l[1]:h-
r||1;e.fillStyle=s("soft"),e.textBaseline="top",e.textAlign="center";for(let d=Math.ceil(r/p)*p;d<=h;d+=p)e.fillText(cn(Math.round(d),p),Math.min(this.at(d,n),n.
x+n.w-14),n.y+n.h+5)}inside({ctx:e,area:n},s){e.save(),e.beginPath(),e.rect(n.x,n.y,n.w,n.h),e.clip(),s(),e.restore()}bins(){return this.fine??this.bench}stairs({
ctx:e,area:n,color:s},i,r,h,l){let p=this.bins(),d=f=>n.y+n.h*(1-f/r),u=f=>this.at(p.from_ns+f*p.bin_ns,n);e.beginPath(),i.forEach((f,c)=>{e.lineTo(u(c),d(f)),e.
lineTo(u(c+1),d(f))}),e.strokeStyle=e.fillStyle=s(h),e.lineWidth=1.5,e.stroke(),l&&(e.lineTo(u(i.length),n.y+n.h),e.lineTo(u(0),n.y+n.h),e.globalAlpha=.18,e.fill(),
e.globalAlpha=1)}top(e){let n=this.bins(),s=r=>(r*this.bench.bin_ns-n.from_ns)/n.bin_ns,i=0;for(let r=Math.max(Math.floor(s(this.view.lo)),0);r<Math.min(Math.ceil(
s(this.view.hi)),e.length);r++)i=Math.max(i,e[r]);return i*1.06||1}tip(e){let n=this.bench;if(e<0||e>=n.running.length)return null;let s=[],i=h=>h>=e*n.bin_ns&&
h<(e+1)*n.bin_ns,r=Un(n.at,i);r.length&&s.push(["requests sent",String(r.length)]);for(let[h,l]of[["TTFT",n.ttft],["E2E",n.e2e]]){let p=l.reduce((d,u,f)=>u>d&&i(
this.when(f,l))?u:d,-1);p>=0&&s.push(["longest "+h,g(p)])}return n.embedding||s.push([Z(n)?"output tokens in the busiest second":"output tokens in the last seco\
nd",Xe(n.busiest[e])]),!n.embedding&&Z(n)&&s.push(["output tokens/s, mean",Xe(n.tokens[e]/(n.bin_ns/1e9))]),s.push(["under way at most",T(String(n.most[e]))],["\
under way, mean",n.running[e].toFixed(1)]),n.embedding||s.push(["in decode, mean",n.decode[e].toFixed(1)]),s.push(["ended",String(n.ended[e])]),n.failed[e]&&s.push(
["failed",String(n.failed[e])]),{title:`${e?g(e*n.bin_ns):"0"} – ${g((e+1)*n.bin_ns)}`,rows:s}}};function Un(o,t){let e=[];return o.forEach((n,s)=>t(n,s)&&e.push(
s)),e}function Xe(o){return o===0?"0":o>=99.95?T(String(Math.round(o))):o.toFixed(1)}function Fs(o,t){let e=[];for(let n=Math.pow(10,Math.floor(Math.log10(o)));n<=
t;n*=10)for(let s of[1,2,5])s*n>=o&&s*n<=t&&e.push(s*n);return e.length>7?e.filter(n=>Math.abs(Math.log10(n)%1)<1e-6||Math.abs(Math.log10(n)%1-1)<1e-6):e}var te=[
["ttft","k1",1],["e2e","k0",2]],ee=class extends Y{log=!0;chosen=-1;range(){let t=1/0,e=0;for(let[n]of te)for(let s of this.shown(n))this.bench[n][s]>0&&(t=Math.
min(t,this.bench[n][s]),e=Math.max(e,this.bench[n][s]));return e===0&&(t=1e6,e=1e9),e*=1.1,t*=.9,this.log&&e/t<10&&(t=e/10),[t,e]}y(t,[e,n],s){return s.y+s.h*(this.
log?1-Math.log(t/e)/Math.log(n/e):1-t/n)}shown(t){let e=this.bench[t],{from:n,to:s}=this.sight();return Un(e,(i,r)=>this.when(r,e)>=n&&this.when(r,e)<=s)}near(t,e){
let n=this.area(),s=this.range(),i=-1,r=64;for(let[h]of te){let l=this.bench[h];for(let p of this.shown(h)){let d=l[p]>0?this.y(l[p],s,n):h==="e2e"&&this.failed(
p)?n.y+n.h-5:NaN,u=(this.at(this.when(p,l),n)-t)**2+(d-e)**2;u<=r&&(r=u,i=p)}}return i}failed(t){return this.bench.ttft[t]<0&&this.bench.e2e[t]<0}paint(t){let{ctx:e,
area:n,color:s}=t,i=this.bench,r=this.range(),[h,l]=r;if(this.shade(t),this.log){e.textAlign="right",e.textBaseline="middle";for(let p of Fs(h,l))e.fillStyle=s(
"line"),e.fillRect(n.x,Math.round(this.y(p,r,n)),n.w,1),e.fillStyle=s("soft"),e.fillText(g(p),n.x-6,this.y(p,r,n))}else this.yAxis(t,l,g);this.inside(t,()=>{for(let[
p,d,u]of te){let f=i.limits[p];f&&(!this.log||f>h)&&Wn(t,this.y(f,r,n),d),e.globalAlpha=.75;for(let c of this.shown(p))i[p][c]>0&&(e.fillStyle=s(i.touched[c]&u?
"k4":d),e.beginPath(),e.arc(this.at(this.when(c,i[p]),n),this.y(i[p][c],r,n),2,0,7),e.fill());e.globalAlpha=1}e.fillStyle=s("high");for(let p of this.shown("e2e"))
this.failed(p)&&e.fillRect(this.at(i.at[p],n)-1,n.y+n.h-10,2,10)}),this.xAxis(t)}mark(t){super.mark(t);let{ctx:e,area:n,color:s}=t,i=this.chosen,r=this.bench,h=this.
range();i<0||this.inside(t,()=>{e.strokeStyle=s("mark"),e.lineWidth=2;for(let[l]of te)r[l][i]>0&&(e.beginPath(),e.arc(this.at(this.when(i,r[l]),n),this.y(r[l][i],
h,n),5,0,7),e.stroke())})}};function Wn({ctx:o,area:t,color:e},n,s){o.strokeStyle=e(s),o.lineWidth=1.5,o.setLineDash([6,4]),o.beginPath(),o.moveTo(t.x,n),o.lineTo(
t.x+t.w,n),o.stroke(),o.setLineDash([])}function Z(o){return o.bin_ns>=1e9}var ne=class extends Y{paint(t){let e=this.bins(),n=this.fine!==null,s=this.top(n?e.tokens:
e.busiest);this.shade(t),this.yAxis(t,s,Xe),this.inside(t,()=>{if(n)return this.stairs(t,e.tokens,s,"compute",!0);this.stairs(t,e.busiest,s,"compute",!Z(e)),Z(e)&&
this.stairs(t,e.tokens.map(i=>i/(e.bin_ns/1e9)),s,"k1",!0)}),this.xAxis(t)}title(){let t=g(this.bins().bin_ns);return this.fine?`Output tokens in each ${t}`:Z(this.
bench)?`Output tokens in the seconds of each ${t}`:"Output tokens in the last second"}},se=class extends Y{queue=[];paint(t){let{ctx:e,area:n,color:s}=t,i=this.
bench,r=this.bins(),{from:h,to:l}=this.sight(),p=this.queue.filter(u=>u.at>=h&&u.at<=l),d=Math.max(this.top(r.most),...p.map(u=>u.queued*1.06));this.shade(t),this.
yAxis(t,d,u=>T(String(u))),this.inside(t,()=>{this.stairs(t,r.most,d,"host",!0),i.embedding||this.stairs(t,r.decode,d,"k0",!1),this.queue.length>0&&this.queued(
t,d),e.fillStyle=s("high"),r.failed.forEach((u,f)=>{let c=this.at(r.from_ns+f*r.bin_ns,n);u&&e.fillRect(c,n.y+n.h-10,Math.max(this.at(r.from_ns+(f+1)*r.bin_ns,n)-
c,2),10)})}),this.xAxis(t)}queued({ctx:t,area:e,color:n},s){t.beginPath();for(let i of this.queue)t.lineTo(this.at(i.at,e),e.y+e.h*(1-i.queued/s));t.strokeStyle=
n("k3"),t.lineWidth=1.5,t.stroke()}},ie=class extends I{constructor(e,n,s){super(e,n,{left:64,bottom:26});this.spread=s;this.nines=Math.max(Math.log10(s.n),.31),
this.canvas.addEventListener("pointermove",i=>{let r=this.area(),h=1-Math.pow(10,-(i.offsetX-r.x)/r.w*this.nines),l=0;s.shares.forEach((p,d)=>p<=h&&(l=d)),this.
point(l,i.offsetX,i.offsetY)}),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.
addEventListener("keydown",i=>{let r=s.shares.length-1,h=i.shiftKey?10:1;if(i.key==="ArrowRight")this.point(Math.min(this.i+h,r));else if(i.key==="ArrowLeft")this.
point(Math.max(this.i-h,0));else if(i.key==="Home")this.point(0);else if(i.key==="End")this.point(r);else if(i.key==="Escape")this.point(-1);else return;i.preventDefault()})}spread;other=null;i=-1;nines;x(e,n){
return n.x+n.w*Math.min(-Math.log10(Math.max(1-e,1e-12))/this.nines,1)}point(e,n,s){if(this.i=e,this.again(),e<0)return A();let i=this.spread,r=i.shares[e],h=this.
other,l=[["percentile",r===1?"longest":"p"+Number((r*100).toPrecision(6))],["value",g(i.values[e])]];h&&l.push(["before",g(Ds(h,r))]),C(this.canvas,n??this.x(i.
shares[e],this.area()),s??20,{title:i.title,rows:l})}paint(e){let{ctx:n,area:s,color:i}=e,r=this.spread,h=this.top(),l=d=>s.y+s.h*(1-d/h);this.yAxis(e,h,g),n.textBaseline=
"top";let p=-1/0;for(let[d,u]of[[0,"min"],[.5,"p50"],[.9,"p90"],[.99,"p99"],[.999,"p99.9"],[.9999,"p99.99"],[.99999,"p99.999"]]){if(-Math.log10(1-d)>this.nines)
break;let f=this.x(d,s),c=n.measureText(u).width,m=Math.min(f-c/2,s.x+s.w+8-c);n.fillStyle=i("line"),n.fillRect(Math.round(f),s.y,1,s.h),!(m<p+4)&&(n.fillStyle=
i("soft"),n.textAlign="left",n.fillText(u,m,s.y+s.h+6),p=m+c)}r.limit>0&&r.limit<h&&Wn(e,l(r.limit),"high");for(let[d,u]of[[this.other,"k4"],[r,"k0"]])d&&(n.beginPath(),
d.values.forEach((f,c)=>n.lineTo(this.x(d.shares[c],s),l(f))),n.strokeStyle=i(u),n.lineWidth=2,n.stroke())}mark({ctx:e,area:n,color:s}){if(this.i<0)return;let i=this.
spread,r=this.top();e.fillStyle=s("mark"),e.beginPath(),e.arc(this.x(i.shares[this.i],n),n.y+n.h*(1-i.values[this.i]/r),3.5,0,7),e.fill()}top(){return Math.max(
this.spread.values.at(-1)??0,this.other?.values.at(-1)??0)*1.06||1}};function Ds(o,t){let e=o.shares.findIndex(n=>n>=t);return o.values[e<0?o.values.length-1:e]}function Ge(o){return a("div",null,a("div",{class:"scroll",role:"region",tabindex:"0","aria-label":o.title+", table"},a("table",null,a("thead",null,a("tr",null,
...o.cols.map(t=>t.name===""?a("td"):a("th",{scope:"col",class:t.right?"r":void 0,title:t.help},t.name)))),a("tbody",null,...o.rows.map(t=>a("tr",null,...t.cells.
map(js)))))),o.omitted&&a("p",{class:"soft"},o.omitted))}function js(o){return a("td",{class:o.right?"r":o.wrap?"w":o.short?"n":void 0},o.code?a("code",{title:o.
full},o.text):o.text)}function Kn(o,t){let e=0,n=o.length;for(;e<n;){let s=e+n>>1;o[s]<t?e=s+1:n=s}return e}function yt(o){let t=o.dp_rank>=0?"DP"+String(o.dp_rank).padStart(2,"0"):"";
return[o.server,t].filter(e=>e!=="").join(" ")||"steps"}var ht=18,re=class extends Y{constructor(e,n,s,i){super(e,i.lanes.length*ht+12,n,s,!1);this.steps=i;this.
whenClicked((r,h)=>{let l=this.stepAt(r,h);l&&this.whenChosen(l)})}steps;lit=null;whenChosen=()=>{};light(e){this.lit=e&&this.steps.lanes.map((n,s)=>new Set(e.filter(
i=>i.lane===s).map(i=>i.step))),this.draw()}rows(){return this.steps.lanes.length}rowAt(e){return Math.min(Math.max(Math.floor((e-this.area().y)/ht),0),this.rows()-
1)}stepAt(e,n){let s=this.area(),i=this.rowAt(n),r=this.steps.lanes[i];if(!r||n<s.y||n>s.y+s.h)return null;let h=this.colAt(e)*this.bench.bin_ns,l=1.5*((this.view.
hi-this.view.lo)*this.bench.bin_ns)/s.w,p=Kn(r.to,h-l);return p<r.to.length&&r.from[p]<=h+l?{lane:i,step:p}:null}paint(e){let{ctx:n,area:s,color:i}=e,r=this.steps.
kinds.map(p=>i(st(p)));this.shade(e);let{from:h,to:l}=this.sight();n.textAlign="right",n.textBaseline="middle",this.steps.lanes.forEach((p,d)=>{let u=s.y+d*ht;n.
fillStyle=i("soft"),n.fillText(Us(n,yt(p),s.x-8),s.x-6,u+ht/2),n.fillStyle=i("line"),n.fillRect(s.x,u+ht-1,s.w,1),this.inside(e,()=>{let f=-1/0;for(let c=Kn(p.to,
h);c<p.from.length&&p.from[c]<=l;c++){let m=this.lit===null||this.lit[d].has(c),b=this.at(p.from[c],s),v=Math.max(this.at(p.to[c],s),b+.5);v<f+.5&&!m||(n.globalAlpha=
m?1:.2,n.fillStyle=r[p.kind[c]],n.fillRect(b,u+3,v-b-(v-b>3?1:0),ht-6),f=Math.max(f,v))}n.globalAlpha=1})}),this.xAxis(e)}point(e,n,s,i){super.point(e,n,s,i),this.
canvas.style.cursor=s!==void 0&&i!==void 0&&this.stepAt(s,i)?"pointer":""}tipAt(e,n){let s=this.stepAt(e,n);if(!s)return null;let i=this.steps.lanes[s.lane];return{
title:this.steps.names[i.name[s.step]],rows:[["step",`${s.step}, ${this.steps.kinds[i.kind[s.step]]}`],["took",g(i.to[s.step]-i.from[s.step])],["from",g(i.from[s.
step])],["requests of this load in it",T(String(i.batch[s.step]))]]}}};function Us(o,t,e){if(o.measureText(t).width<=e)return t;for(;t.length>1&&o.measureText(t+
"…").width>e;)t=t.slice(0,-1);return t+"…"}function Ws(o){return Math.min(Math.max(o*9,40),360)}var ae=class extends Y{constructor(e,n,s,i){super(e,Ws(i.rows)+
34,n,s);this.requests=i;this.whenClicked((r,h)=>{let l=this.barAt(r,h);l>=0&&this.whenChosen(this.requests.index[l])})}requests;marked=-1;others=new Set;whenChosen=()=>{};show(e){
this.requests=e,this.draw()}light(e,n){this.marked=e,this.others=new Set(n),this.draw()}y(e,n){let s=n.h/Math.max(this.requests.rows,1);return[n.y+e*s,Math.max(
s-(s>3?1:0),.7)]}barAt(e,n){let s=this.area(),i=this.colAt(e)*this.bench.bin_ns,r=this.requests,h=2*((this.view.hi-this.view.lo)*this.bench.bin_ns)/s.w,l=Math.floor(
(n-s.y)/s.h*r.rows),p=Math.max(Math.ceil(2*r.rows/s.h)-1,0),d=-1;for(let u=0;u<r.index.length;u++)Math.abs(r.row[u]-l)>p||r.sent[u]>i+h||r.done[u]<i-h||(d<0||Math.
abs(r.row[u]-l)<Math.abs(r.row[d]-l))&&(d=u);return d}paint(e){let{ctx:n,area:s,color:i}=e,r=this.requests;this.shade(e),n.fillStyle=i("soft"),n.textAlign="righ\
t",n.textBaseline="top",n.fillText(T(String(r.rows)),s.x-6,s.y),n.fillText("at once",s.x-6,s.y+13);let h={wait:i("k1"),decode:i("k0"),end:i("k4"),failed:i("high")};
this.inside(e,()=>{for(let l=0;l<r.index.length;l++){let[p,d]=this.y(r.row[l],s),u=r.index[l]===this.marked;n.globalAlpha=this.marked<0&&this.others.size===0||u||
this.others.has(r.index[l])?r.touched[l]&&!u?.75:1:.18;let f=(b,v,w,y=1)=>{let k=Math.max(this.at(b,s),s.x-1),S=Math.min(this.at(v,s),s.x+s.w+1);S<s.x||k>s.x+s.
w||v<=b||(n.fillStyle=w,n.fillRect(k,p+d*(1-y)/2,Math.max(S-k,.5),d*y))};if(r.failed[l]){f(r.sent[l],r.done[l],h.failed);continue}let c=r.first[l]<0?r.done[l]:r.
first[l],m=Math.max(r.last[l],c);f(r.sent[l],c,h.wait,.55),f(c,m,h.decode),f(m,r.done[l],h.end,.3)}n.globalAlpha=1}),this.xAxis(e)}mark(e){super.mark(e);let{ctx:n,
area:s,color:i}=e,r=this.requests.index.indexOf(this.marked);if(r<0)return;let[h,l]=this.y(this.requests.row[r],s);this.inside(e,()=>{n.strokeStyle=i("mark"),n.
lineWidth=1.5;let p=this.at(this.requests.sent[r],s),d=this.at(this.requests.done[r],s);n.strokeRect(p-1,h-1,Math.max(d-p+2,3),l+2)})}point(e,n,s,i){super.point(
e,n,s,i),this.canvas.style.cursor=s!==void 0&&i!==void 0&&this.barAt(s,i)>=0?"pointer":""}tipAt(e,n){let s=this.barAt(e,n),i=this.requests;if(s<0)return null;let r=[
["sent at",g(i.sent[s])]];return i.failed[s]?r.push(["failed after",g(i.done[s]-i.sent[s])]):(i.first[s]>=0&&r.push(["TTFT",g(i.first[s]-i.sent[s])]),r.push(["E\
2E",g(i.done[s]-i.sent[s])])),i.touched[s]&&r.push(["touched","by the captured window"]),{title:"request "+i.index[s],rows:r}}};function Vn(o){return{queue:"idle",prefill:"k1",decode:"k0",wait:"wait",reply:"k2",unknown:"unknown"}[o]}function Xn(o){return["queue","prefill","wait","decode",
"reply","unknown"].map(e=>({of:e,ns:o.filter(n=>n.of===e).reduce((n,s)=>n+s.ns,0)})).filter(e=>e.ns>0)}var Gn={queue:"queue",prefill:"prefill",wait:"wait",decode:"\
decode",reply:"reply",unknown:"not recorded"};function oe(o,t=!1){let e=o.reduce((i,r)=>i+r.ns,0)||1,n=a("div",{class:"parts","aria-hidden":"true"},...o.map(i=>{
let r=a("i",{title:`${i.name} ${g(i.ns)}`});return r.style.width=`${100*i.ns/e}%`,r.style.background=`var(--${Vn(i.of)})`,r})),s=i=>{let r=a("i");return r.style.
background=`var(--${Vn(i)})`,r};return t?a("div",null,n,a("p",{class:"keys"},...Xn(o).map(i=>a("span",{class:"key"},s(i.of),Gn[i.of]+" ",a("b",null,g(i.ns)))))):
a("div",null,n,a("p",{class:"keys sums"},...Xn(o).map(i=>a("span",{class:"key"},s(i.of),Gn[i.of]+" ",a("b",null,g(i.ns))))),a("table",{class:"split"},a("tbody",
null,...[...o].sort((i,r)=>r.ns-i.ns).map(i=>a("tr",null,a("th",{scope:"row"},s(i.of),i.name,i.more&&a("small",null,i.more)),a("td",null,g(i.ns)),a("td",null,_(
i.ns/e)))))))}function Yn(o,t,e){let n=o.moments.find(i=>i.name==="sent")?.at??o.moments[0]?.at??0;return a("aside",{class:"panel","aria-label":"Request "+o.index},
a("header",null,a("h2",null,"Request ",String(o.index),o.turn>0&&`, turn ${o.turn+1}`),a("button",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:e.
close}},"×")),o.id!==""&&a("p",{class:"id"},a("code",null,o.id)),o.failure!==""&&a("p",{class:"caveat"},"failed: "+o.failure+(o.error?": "+o.error:"")),o.ttft&&
Ks("TTFT",o.ttft),o.why!==""&&a("p",{class:"soft"},o.why),Vs(o,t,e),o.gaps.length>0&&a("section",null,a("h3",null,"Its longest waits for a token"),...o.gaps.slice(
0,4).map(i=>a("div",{class:"gap"},a("p",null,a("b",null,g(i.ns)),` until event ${i.event}`),oe(i.parts,!0)))),o.with.length>0&&a("section",null,a("h3",null,"In \
the same steps"),a("p",{class:"chips"},...o.with.map(i=>a("button",{class:"chip",title:i.id+`: ${i.steps} steps together`,on:{click:()=>e.request(i.index)}},String(
i.index),a("small",null,"×"+i.steps))))),a("section",null,a("h3",null,"Moments"),a("dl",null,...o.moments.flatMap(i=>[a("dt",null,i.name),a("dd",null,i.name===
"sent"?g(i.at)+" into the load":i.at===n?"0":(i.at<n?"−":"+")+g(Math.abs(i.at-n)))]))),a("section",null,a("h3",null,"Facts"),a("dl",null,...o.facts.flatMap(([
i,r])=>[a("dt",null,i),a("dd",null,r)]))))}function Ks(o,t){return a("section",null,a("h3",null,o+" ",a("b",null,g(t.ns)),t.place&&a("span",{class:"soft"}," on "+
t.place)),oe(t.parts))}function Vs(o,t,e){if(!t||o.steps.length===0)return null;let n=[...new Set(o.steps.map(s=>s.lane))];return a("section",null,a("h3",null,"\
Its steps"),...n.map(s=>{let i=o.steps.filter(l=>l.lane===s).map(l=>l.step),r=t.lanes[s],h=e.timeline(s,r.from[i[0]],r.to[i[i.length-1]]);return a("p",null,`${yt(
r)}: ${i.length} of steps ${i[0]}–${i[i.length-1]} `,h&&a("a",{href:h},"see them in the timeline"))}))}var Xs=2e5,Gs=120,le=class{constructor(t,e,n,s,i){this.store=t;this.run=e;this.requests=n;let r=e.plots;this.view=new nt(r.running.length,Xs/r.bin_ns);let h=w=>a(
"canvas",{tabindex:"0",role:"img","aria-label":w}),l=(w,y,k,...S)=>a("figure",null,a("figcaption",null,typeof w=="string"?a("span",null,w):w,a("span",{class:"ke\
ys"},...y.map(([H,j])=>Qn(H,j)),...S)),k),p=[...r.steady.length?[["info","steady"]]:[],...r.profiled.length?[["k3","captured window"]]:[]],d=a("input",{type:"ch\
eckbox"});d.checked=!0,d.addEventListener("change",()=>{this.latency.log=d.checked,this.latency.draw()});let u=h(`Latency of requests by the time of ${r.at_once?
"their end":"sending"}`);this.latency=new ee(u,220,r,this.view),this.latency.whenClicked((w,y)=>{let k=this.latency.near(w,y);this.choose(k<0?null:r.index[k])});
let f=new se(h("Requests under way over time"),100,r,this.view,!1);f.queue=e.server,this.binned.push(f),this.plots.push(this.latency,f);let c=r.embedding?null:new ne(
h("Output tokens a second over time"),100,r,this.view,!1);c&&(this.tokens=c,this.rate.textContent=c.title(),this.binned.push(c),this.plots.push(c)),this.bars=new ae(
h("Requests as bars over time"),r,this.view,n),this.bars.whenChosen=w=>this.choose(w),this.plots.push(this.bars);let m=r.touched.some(w=>w>0)?[["k4","touched by\
 it: in no figure"]]:[],b=r.embedding?[["k0","E2E"]]:[["k1","TTFT"],["k0","E2E"]],v=r.spreads.map(w=>{let y=new ie(h(w.title+" by percentile"),190,w);return y.other=
s?.plots.spreads.find(k=>k.name===w.name)??null,this.plots.push(y),l(w.title,y.other?[["k0","this run"],["k4","before"]]:[],y.canvas,a("span",{class:"soft"},w.note))});
this.el=a("div",{class:"run"},a("header",null,a("div",{class:"what"},a("h2",null,e.title),a("p",{class:"verdict"},e.verdict),...e.next.map(w=>a("p",{class:"next"},
w)),a("p",{class:"facts"},[e.id,...e.tags,...e.head].join(" · "))),a("div",{class:"choices"},this.repetitions(),a("label",null,"against ",this.against))),a("di\
v",{class:"cards"},...e.cards.map((w,y)=>a("div",{class:"card"},a("span",null,w.name),a("b",null,w.value),a("span",null,w.more),s?.cards[y]?.name===w.name&&a("s\
pan",{class:"before"},"before: "+s.cards[y].value)))),i&&Ys(i),a("div",{class:"axis"},a("div",{class:"plots"},l(r.embedding?"E2E of each request":"TTFT and E2E \
of each request",[...b,...m,["high","failed"],...p],u,a("label",null,d," logarithmic")),c&&l(this.rate,Z(r)?[["compute","busiest second"],["k1","mean"]]:[],c.canvas),
l("Requests",[["host","under way"],...r.embedding?[]:[["k0","in decode"]],...e.server.length?[["k3","queued, as the server says"]]:[]],f.canvas),this.strip,l("R\
equests one by one",[["k1","until the first token"],["k0","decode"],["k4","end"],["high","failed"]],this.bars.canvas,this.note),a("p",{class:"hint"},"Drag to zo\
om all, double click for all of the run. Click a dot or a bar for what its request waited for.")),this.side),this.slow,a("section",null,a("h3",null,"Distributio\
ns"),a("div",{class:"spreads"},...v)),a("section",{class:"said"},a("h3",null,"What else is known"),a("dl",null,...e.facts.flatMap(w=>[a("dt",null,w.label),a("dd",
{class:w.severity&&"fact-"+w.severity},w.text)]))),...e.tables.map(w=>a("section",null,a("h3",null,w.title),Ge(w)))),this.view.whenMoved=()=>this.moved(),e.recorded&&
x(this.strip,a("p",{class:"soft"},"Reading the recorded steps…"))}store;run;requests;el;against=a("select",{"aria-label":"Compare with"});view;plots=[];latency;tokens=null;rate=a(
"span");binned=[];bars;lanes=null;steps=null;strip=a("div",{class:"strip"});slow=a("section",{class:"slow"});side=a("div",{class:"side"});note=a("span",{class:"\
soft"});chosen="";timer=0;start(){this.follow(this.store.params),this.restyle()}restyle(){for(let t of this.plots)t.draw()}close(){clearTimeout(this.timer);for(let t of this.
plots)t.drop()}repetitions(){let{run:t}=this;if(t.reps<2)return null;let e=a("select",{"aria-label":"Repetition"},...Array.from({length:t.reps},(n,s)=>a("option",
{value:s},`run ${s+1} of ${t.reps}`)));return e.value=String(t.rep),e.addEventListener("change",()=>this.store.set({rep:e.value,req:null,pass:null,lane:null},"p\
ush")),e}follow(t){let e=this.run.plots.bin_ns,n=this.run.plots.running.length*e,s=R(t,"b0",0)/e,i=R(t,"b1",n)/e;(Math.abs(s-this.view.lo)>1e-6||Math.abs(i-this.
view.hi)>1e-6)&&this.view.zoom(s,i);let r=JSON.stringify([t.req,t.lane,t.pass]);r!==this.chosen&&(this.chosen=r,t.req!==void 0?this.showRequest(R(t,"req",-1)):t.
pass!==void 0&&this.steps?this.showStep({lane:R(t,"lane",0),step:R(t,"pass",-1)}):this.bare())}moved(){let t=this.run.plots.bin_ns,e=this.view.hi-this.view.lo>=
this.view.cols-1e-9;this.store.set({b0:e?null:this.view.lo*t,b1:e?null:this.view.hi*t}),clearTimeout(this.timer),this.timer=window.setTimeout(()=>{this.refine()},
Gs)}async refine(){let t=this.run.plots,{lo:e,hi:n}=this.view,s={run:this.run.id,rep:this.run.rep,from:Math.round(Math.max(e*t.bin_ns,0)),to:Math.round(n*t.bin_ns)},
i=n-e<this.view.cols/2&&t.bin_ns>1e6,[r,h]=await Promise.all([i?M("load/timeline",s):null,this.requests.of>this.requests.index.length||this.requests.of<this.run.
plots.at.length?M("load/requests",s):null]);if(!(e!==this.view.lo||n!==this.view.hi)){for(let l of this.binned)l.fine=r,l.draw();this.tokens&&(this.rate.textContent=
this.tokens.title()),h&&this.take(h)}}take(t){this.requests=t,this.bars.show(t);let e=t.of-t.index.length;this.note.textContent=e>0?`${t.index.length} of ${t.of}\
 in sight`:""}zoom(t){let e=this.view.col>=0?this.view.col+.5:(this.view.lo+this.view.hi)/2,n=(this.view.hi-this.view.lo)/2*t;this.view.zoom(e-n,e+n)}pan(t){let e=(this.
view.hi-this.view.lo)*t;this.view.zoom(this.view.lo+e,this.view.hi+e)}whole(){this.view.zoom(0,this.view.cols)}captured(){let t=this.steps?.lanes.flatMap(r=>r.windows)??
[],e=t.length?t:this.run.plots.profiled;if(e.length===0)return;let n=Math.min(...e.map(r=>r.from)),s=Math.max(...e.map(r=>r.to)),i=(s-n)*.03;this.view.zoom((n-i)/
this.run.plots.bin_ns,(s+i)/this.run.plots.bin_ns)}choose(t){this.store.set({req:t,lane:null,pass:null},"push")}release(){this.store.params.req!==void 0||this.store.
params.pass!==void 0?this.choose(null):this.whole()}next(t){let e=this.requests.index,n=e.indexOf(R(this.store.params,"req",-1)),s=e[n<0?t>0?0:e.length-1:Math.min(
Math.max(n+t,0),e.length-1)];s!==void 0&&this.store.set({req:s,lane:null,pass:null})}bare(){this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,[]),this.
lanes?.light(null),this.panel(null)}panel(t){x(this.side,t),this.el.classList.toggle("open",t!==null)}async showRequest(t){let e=this.chosen,n=await M("load/req\
uest",{run:this.run.id,rep:this.run.rep,index:t});e===this.chosen&&(this.latency.chosen=this.run.plots.index.indexOf(t),this.latency.again(),this.bars.light(t,n.
with.map(s=>s.index)),this.lanes?.light(n.steps.length?n.steps:null),this.panel(Yn(n,this.steps,{request:s=>this.choose(s),timeline:(s,i,r)=>this.timeline(s,i,r),
close:()=>this.choose(null)})))}async showStep(t){let e=this.chosen,n=this.steps?.lanes[t.lane],s=await M("load/step",{run:this.run.id,lane:t.lane,step:t.step});
if(e!==this.chosen||!this.steps||!n)return;this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,s.with.map(r=>r.index)),this.lanes?.light([t]);let i=this.
timeline(t.lane,n.from[t.step],n.to[t.step]);this.panel(a("aside",{class:"panel","aria-label":"Step "+t.step},a("header",null,a("h2",null,`Step ${t.step}`),a("b\
utton",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:()=>this.choose(null)}},"×")),a("p",null,a("code",null,this.steps.names[n.name[t.step]])),
a("dl",null,a("dt",null,"where"),a("dd",null,yt(n)),a("dt",null,"kind"),a("dd",null,this.steps.kinds[n.kind[t.step]]),a("dt",null,"from"),a("dd",null,g(n.from[t.
step])),a("dt",null,"took"),a("dd",null,g(n.to[t.step]-n.from[t.step]))),i&&a("p",null,a("a",{href:i},"see it in the timeline")),a("section",null,a("h3",null,s.
with.length?"Requests in it":"No request of this load was in it"),a("p",{class:"chips"},...s.with.map(r=>a("button",{class:"chip",title:r.id,on:{click:()=>this.
choose(r.index)}},String(r.index)))))))}timeline(t,e,n){let s=this.steps?.lanes[t];if(!s)return null;let i=Math.max((n-e)*.05,1e4);return N(P(this.store.params,
{tab:"timeline",c:this.run.id,t0:e+s.shift-i,t1:n+s.shift+i}))}join(t){this.steps=t;let e=a("canvas",{tabindex:"0",role:"img","aria-label":"Recorded steps over \
time"});x(this.strip,a("figure",null,a("figcaption",null,a("span",null,"Steps that were recorded"),a("span",{class:"keys"},...t.kinds.map((n,s)=>Qn(["k0","k1","\
k2","k3","k4"][["decode","prefill","mixed","other","idle"].indexOf(n)]??"k"+s%5,n)),a("button",{class:"link",title:"Key: c",on:{click:()=>this.captured()}},"zoo\
m to them"))),e)),this.lanes=new re(e,this.run.plots,this.view,t),this.lanes.whenChosen=n=>this.store.set({req:null,lane:n.lane,pass:n.step},"push"),this.plots.
push(this.lanes),this.lanes.draw(),x(this.slow,a("h3",null,"What the slow ones waited for",a("span",{class:"soft"},t.steps_by==="time"?", by time":", by request\
 id")),a("div",{class:"tails"},this.run.plots.embedding?null:this.tail("TTFT",t.ttft),this.tail("Time between tokens",t.itl)),...t.notes.map(n=>a("p",{class:"so\
ft"},n))),this.chosen="",this.follow(this.store.params)}unjoined(t){x(this.strip,a("p",{class:"soft"},"What the requests waited for in recorded steps is not kno\
wn: "+t))}tail(t,e){let n=[...new Set(e.cases)];return a("div",null,a("h4",null,t,a("span",{class:"soft"},e.n?`, p99 of ${e.n}: ${g(e.p99_ns)}`:"")),n.length===
0?a("p",{class:"soft"},"none in the recorded window"):oe(e.parts,!0),e.below&&a("p",{class:"soft"},"none at or above p99 is in the recorded window: this is the \
slowest one in it"),a("p",{class:"chips"},...n.slice(0,24).map(s=>a("button",{class:"chip",title:"what request "+s+" waited for",on:{click:()=>this.choose(s)}},
String(s)))))}};function Qn(o,t){let e=a("i");return e.style.background=`var(--${o})`,a("span",{class:"key"},e,t)}function Ys(o){return a("section",{class:"comp\
ared"},a("h3",null,"B against A"),a("dl",null,a("dt",null,"A"),a("dd",null,o.sides[0]),a("dt",null,"B"),a("dd",null,o.sides[1])),a("p",{class:"verdict"},o.verdict),
o.unlike.length>0&&a("ul",null,...o.unlike.map(t=>a("li",null,t))),...o.tables.map(t=>Ge(t)),...o.notes.map(t=>a("p",{class:"soft"},t)))}function Jn(o,t){return JSON.stringify([o.run??t.session.run,o.rep,o.vs])}var Ye=class{constructor(t){this.context=t;let{keys:e}=t,n=s=>()=>this.page&&s(this.page);
e.bind("w +","Benchmark","zoom in",n(s=>s.zoom(.5))),e.bind("s -","Benchmark","zoom out",n(s=>s.zoom(2))),e.bind("a","Benchmark","go to earlier",n(s=>s.pan(-.25))),
e.bind("d","Benchmark","go to later",n(s=>s.pan(.25))),e.bind("0","Benchmark","show the whole run",n(s=>s.whole())),e.bind("c","Benchmark","show the captured wi\
ndow",n(s=>s.captured())),e.bind("j","Benchmark","the next request",n(s=>s.next(1))),e.bind("k","Benchmark","the request before",n(s=>s.next(-1))),e.bind("Escap\
e","Benchmark","let go of what is chosen",n(s=>s.release())),this.open()}context;el=a("div",{class:"bench"});page=null;shown="";gone=new AbortController;update(t){
Jn(t,this.context)===this.shown?this.page?.follow(t):this.open()}restyle(){this.page?.restyle()}close(){this.gone.abort(),this.page?.close()}open(){let{store:t,
session:e}=this.context,n=t.params,s=n.run??e.run;this.close(),this.page=null,this.shown=Jn(n,this.context),this.gone=new AbortController,s===""?this.choose():this.
show(s,n.rep,n.vs)}async choose(){let{signal:t}=this.gone,e=await M("load/runs",{},t);if(t.aborted)return;if(e.length===0){x(this.el,a("div",{class:"none"},a("h\
2",null,"No benchmark run yet"),a("p",null,"One is kept by each ",a("code",null,"stepscope bench serving --url http://HOST:30000"),"; with ",a("code",null,"--pr\
ofile")," its steps are recorded meanwhile.")));return}let n=["request throughput","output throughput","TTFT p50","TTFT p99","ITL p50","ITL p99"];x(this.el,a("h\
2",null,"Benchmark runs"),a("div",{class:"scroll"},a("table",null,a("thead",null,a("tr",null,a("th",null,"run"),a("th",null,"model"),a("th",null,"tags"),...n.map(
s=>a("th",{class:"r"},s)),a("th",null,"steps"))),a("tbody",null,...e.map(s=>a("tr",null,a("td",null,a("a",{href:this.at({run:s.id})},s.id),s.status!=="complete"&&
a("span",{class:"soft"}," "+s.status)),a("td",null,s.model),a("td",null,s.tags.join(", ")),...n.map(i=>{let r=s.numbers.find(h=>h.name===i);return a("td",{class:"\
r"},r?`${r.value.toPrecision(3)} ${r.unit??""}`:"–")}),a("td",null,s.traces>0?"recorded":"")))))))}at(t){return N(P(this.context.store.params,{tab:"bench",...t}))}async show(t,e,n){
let{signal:s}=this.gone,{store:i,session:r}=this.context,h={run:t,rep:e},l=n===void 0||n===t?null:{run:n},[p,d,u,f]=await Promise.all([M("load",h,s),M("load/req\
uests",h,s),l&&M("load",l,s),l&&M("load/compare",{run:t,vs:n},s)]);if(s.aborted)return;let c=this.page=new le(i,p,d,u,f);x(this.el,c.el),c.start();let m=c.against;
if(!r.exported){let b=await M("load/runs",{},s);if(s.aborted)return;x(m,a("option",{value:""},"no other run"),...b.filter(v=>v.id!==t).map(v=>a("option",{value:v.
id},[v.id,...v.tags].join(" ")))),m.value=n??"",m.addEventListener("change",()=>i.set({vs:m.value||null},"push")),m.disabled=m.options.length<2}if(p.recorded)try{
let b=await M("load/steps",{run:t},s);!s.aborted&&b.rep===p.rep?c.join(b):s.aborted||c.unjoined(`steps were recorded in repetition ${b.rep+1} of this load`)}catch(b){
if(s.aborted)return;c.unjoined(b instanceof Error?b.message:String(b))}}},Zn={id:"bench",title:"Benchmark",needs:"runs",open:o=>new Ye(o)};var he=["running","queued","tokens","usage"];var kt=class{samples;constructor(t){this.samples=Array.from({length:t},()=>[])}add(t){let e=this.samples[t.server];if(!e)return;e.push(t);let n=e.findIndex(s=>s.
at_ms>=t.at_ms-6e5);n>0&&e.splice(0,n)}last(t){return this.samples[t].at(-1)}ranks(t){return[...new Set(this.samples[t].flatMap(e=>e.ranks.map(n=>n.dp)))].sort(
(e,n)=>e-n)}line(t,e,n){let s=this.samples[t];return{at:s.map(i=>i.at_ms),values:s.map(i=>i.ranks.find(r=>r.dp===e)?.[n]??null)}}span(t){let e=Math.min(...this.
samples.map(n=>n[0]?.at_ms??t));return Math.min(Math.max(t-e,6e4),6e5)}total(t){let e=new Map,n={at:[],values:[]};for(let s of this.samples.flat().sort((i,r)=>i.
at_ms-r.at_ms)){e.set(s.server,s.error?null:pt(s.ranks.map(r=>r[t])));let i=[...e.values()];n.at.push(s.at_ms),n.values.push(i.includes(null)?null:pt(i))}return n}top(t){
let e=0;for(let n of this.samples.flat())for(let s of n.ranks)e=Math.max(e,s[t]??0);return e}};function pt(o){let t=o.filter(e=>e!==null);return t.length?t.reduce(
(e,n)=>e+n,0):null}function ts(o,t,{now:e,span:n},s,i){let r=[],h=[];return o.values.forEach((l,p)=>{if(l===null||o.at[p]<e-n){h.length&&r.push(h),h=[];return}h.push([s*(1-(e-o.at[p])/
n),i*(1-Math.min(l/(t||1),1))])}),h.length&&r.push(h),r}function es(o,t,e,n,s,i){o.strokeStyle=o.fillStyle=e;for(let r of t){o.beginPath();for(let[h,l]of r)o.lineTo(
n+h,s+l);r.length===1&&o.lineTo(n+r[0][0]+1,s+r[0][1]),o.stroke(),o.lineTo(n+r[r.length-1][0],i),o.lineTo(n+r[0][0],i),o.globalAlpha=.15,o.fill(),o.globalAlpha=
1}}var pe=26,de=class{constructor(t){this.color=t}color;canvas=a("canvas",{"aria-hidden":"true"});draw(t,e,n){let s=window.devicePixelRatio||1,i=this.canvas.getContext(
"2d"),r=this.canvas.clientWidth;if(!i||r===0)return;this.canvas.width=Math.round(r*s),this.canvas.height=Math.round(pe*s),i.setTransform(s,0,0,s,0,0);let h=V();
i.fillStyle=h("line"),i.fillRect(0,pe-1,r,1),i.lineWidth=1.25,es(i,ts(t,e,n,r,pe-3),h(this.color),0,1.5,pe)}},Mt=class extends I{constructor(e,n){super(e,120,{left:52,
bottom:20});this.text=n}text;lines=[];sight={now:0,span:1};show(e,n){this.lines=e,this.sight=n,this.draw()}paint(e){let{ctx:n,area:s,color:i}=e,{now:r,span:h}=this.
sight,l=Math.max(...this.lines.flatMap(p=>p.line.values.map((d,u)=>p.line.at[u]>=r-h?d??0:0)),0)*1.08||1;this.yAxis(e,l,this.text),n.fillStyle=i("soft"),n.textBaseline=
"top";for(let[p,d]of[[0,"left"],[.5,"center"],[1,"right"]])n.textAlign=d,n.fillText(p===1?"now":"−"+g(Math.round(h*(1-p)/1e3)*1e9).replace(/\.0+ /," "),s.x+s.
w*p,s.y+s.h+5);n.lineWidth=1.5;for(let p of this.lines)es(n,ts(p.line,l,this.sight,s.w,s.h),i(p.color),s.x,s.y,s.y+s.h)}};var ns={running:"running",queued:"queued",tokens:"tokens/s",usage:"KV cache"},St={running:"k0",queued:"k3",tokens:"compute",usage:"k2"};function dt(o,t){return t==
null?"–":o==="usage"?_(t):T(t<10&&!Number.isInteger(t)?t.toFixed(1):String(Math.round(t)))}var Qe=class{constructor(t,e,n){this.server=t;this.dp=e;this.cells=
he.map(s=>({measure:s,value:a("b"),spark:new de(St[s])})),this.el=a("tr",null,a("th",{scope:"row"},n),...this.cells.map(s=>a("td",{data:{title:ns[s.measure]}},a(
"div",{class:"cell"},s.spark.canvas,s.value))))}server;dp;el;cells;draw(t,e,n){let s=t.last(this.server)?.ranks.find(i=>i.dp===this.dp);for(let i of this.cells)
i.value.textContent=dt(i.measure,s?.[i.measure]),i.spark.draw(t.line(this.server,this.dp,i.measure),e[i.measure],n)}},Je=class{constructor(t){this.context=t;this.
steps.value=String(R(t.store.params,"steps",10)),this.steps.addEventListener("change",()=>t.store.set({steps:Math.min(Math.max(Number(this.steps.value)||10,1),1e4)})),
t.keys.bind("r","Live","record a window of all ranks",()=>{this.record()}),x(this.el,a("p",{class:"soft"},"Asking the servers…")),this.events=new EventSource(
"api/live"),this.on("hello",e=>this.hello(e)),this.on("sample",e=>this.sample(e)),this.on("capture",e=>this.capture(e)),this.events.addEventListener("error",()=>this.
lost("stepscope does not answer: has it been ended?"))}context;el=a("div",{class:"live"});events;history=new kt(0);servers=[];rows=new Map;cards=a("div",{class:"\
cards"});body=a("tbody");trouble=a("p",{class:"lost",role:"status",hidden:!0});shot=a("section",{class:"shot"});steps=a("input",{type:"number",min:"1",max:"1000\
0","aria-label":"Forward steps"});button=a("button",{class:"button",on:{click:()=>{this.record()}}},"Record");told=a("div",{class:"told","aria-live":"polite"});requests=new Mt(
a("canvas",{role:"img","aria-label":"Requests running and queued over the last minutes"}),t=>dt("running",t));output=new Mt(a("canvas",{role:"img","aria-label":"\
Output tokens a second over the last minutes"}),t=>dt("tokens",t));awaited=0;pending=0;on(t,e){this.events.addEventListener(t,n=>e(JSON.parse(n.data)))}update(){
this.steps.value=String(R(this.context.store.params,"steps",10))}restyle(){this.draw()}close(){this.events.close(),cancelAnimationFrame(this.pending),this.requests.
drop(),this.output.drop()}lost(t){this.trouble.hidden=t==="",this.trouble.textContent=t}hello(t){this.servers=t.servers,this.history=new kt(t.servers.length);for(let n of t.
samples)this.history.add(n);this.rows.clear(),this.lost(""),x(this.shot,a("label",null,"Record ",this.steps," forward steps of all ranks "),this.button,this.told),
this.button.disabled=!t.records,t.records||x(this.told,a("p",{class:"soft"},"There is no place to keep what is recorded: give --run-dir."));let e=(n,s)=>{let i=a(
"i");return i.style.background=`var(--${St[n]})`,a("span",{class:"key"},i,s)};x(this.el,this.trouble,this.cards,this.shot,a("div",{class:"together"},a("figure",
null,a("figcaption",null,"Requests ",e("running","running"),e("queued","queued")),this.requests.canvas),a("figure",null,a("figcaption",null,"Output tokens/s"),this.
output.canvas)),a("div",{class:"scroll"},a("table",{class:"ranks"},a("thead",null,a("tr",null,a("th",{scope:"col"},"rank"),...he.map(n=>a("th",{scope:"col"},ns[n])))),
this.body)),a("p",{class:"soft"},`Servers are asked every ${g(t.every_ms*1e6)} while a page shows them. All ranks are drawn to one scale.`)),t.capture&&this.capture(
t.capture),this.draw()}sample(t){this.history.add(t),this.draw()}draw(){cancelAnimationFrame(this.pending),this.pending=requestAnimationFrame(()=>this.paint())}paint(){
let t=this.servers.map((c,m)=>this.history.last(m)),e=Math.max(...t.map(c=>c?.at_ms??0)),n=Object.fromEntries(he.map(c=>[c,c==="usage"?1:this.history.top(c)])),
s=[];this.servers.forEach((c,m)=>{for(let b of this.history.ranks(m)){let v=`${m} ${b}`,w=this.history.ranks(m).length>1,y=[this.servers.length>1?[c.role,c.name].
filter(S=>S).join(" "):"",w?"DP"+String(b).padStart(2,"0"):""].filter(S=>S!=="").join(" ")||c.name,k=this.rows.get(v);(!k||k.el.cells[0].textContent!==y)&&this.
rows.set(v,k=new Qe(m,b,y)),s.push(k)}}),(s.length!==this.body.rows.length||s.some((c,m)=>this.body.rows[m]!==c.el))&&x(this.body,...s.map(c=>c.el));let i={now:e,
span:this.history.span(e)};for(let c of s)c.draw(this.history,n,i);this.requests.show([{line:this.history.total("running"),color:St.running},{line:this.history.
total("queued"),color:St.queued}],i),this.output.show([{line:this.history.total("tokens"),color:St.tokens}],i);let r=t.flatMap(c=>c?.ranks??[]),h=c=>t.map(m=>m?.[c]).
filter(m=>m!=null).sort((m,b)=>b.p99_ns-m.p99_ns)[0],l=r.map(c=>c.usage).filter(c=>c!==null),p=h("ttft"),d=h("itl"),u=(c,m,b)=>a("div",{class:"card"},a("span",null,
c),a("b",null,m),a("span",null,b));x(this.cards,u("Running",dt("running",pt(r.map(c=>c.running))),"requests"),u("Queued",dt("queued",pt(r.map(c=>c.queued))),"re\
quests"),u("Output",dt("tokens",pt(t.map(c=>c?.tokens??null))),"tokens/s"),u("KV cache",l.length?_(Math.max(...l)):"–",r.length>1?"of the rank that uses most":
"in use"),u("TTFT",p?g(p.p50_ns):"–",p?"median now; p99 "+g(p.p99_ns):"no first token just now"),u("Between tokens",d?g(d.p50_ns):"–",d?"median now; p99 "+g(
d.p99_ns):"no token just now"));let f=t.map((c,m)=>c?.error?`${this.servers[m].name}: ${c.error}`:c?.restarted?`${this.servers[m].name} was started anew`:"").filter(
c=>c!=="");this.lost(f.join("; ")),this.el.dataset.drawn=String(e)}async record(){if(!this.button.disabled)try{if(this.button.dataset.stops){await we("live/stop",
{});return}let t=Math.min(Math.max(Math.round(Number(this.steps.value))||10,1),1e4);this.awaited=(await we("live/capture",{steps:t})).n}catch(t){x(this.told,a("\
p",{class:"bad"},t instanceof Error?t.message:String(t)))}}capture(t){let e=t.state==="recording",{store:n}=this.context;this.button.textContent=e?"Stop":"Recor\
d",e?this.button.dataset.stops="1":delete this.button.dataset.stops,this.steps.disabled=e;let s=t.state==="done"&&a("p",null,"Kept as run ",a("button",{class:"l\
ink",on:{click:()=>this.open(t.run)}},t.run),".");x(this.told,e&&a("p",null,`Recording ${t.steps} steps…`),(t.state==="failed"||t.state==="stopped")&&a("p",{class:"\
bad"},t.error),s,t.now.length>0&&a("pre",null,t.now.join(`
`)),t.lines.length>0&&a("details",{open:t.state==="failed"},a("summary",null,"What it said"),a("pre",null,t.lines.join(`
`)))),this.told.dataset.state=t.state,t.state==="done"&&t.n===this.awaited&&(this.awaited=0,n.params.tab==="live"&&this.open(t.run))}open(t){let{store:e}=this.context;
e.go(P(e.params,{tab:"summary",c:t,run:null}))}};function Qs(){return{el:a("div",{class:"live none"},a("h2",null,"No server is shown"),a("p",null,"Give its URL:\
 ",a("code",null,"stepscope view --url http://HOST:30000"),". Its requests, tokens and cache are then shown here, rank by rank, and windows of all ranks can be \
recorded."))}}var ss={id:"live",title:"Live",needs:"server",open:o=>o.session.live?new Je(o):Qs()};var Ze={id:"runs",title:"Runs",needs:"runs",open:()=>({el:a("div",null)})};var tn=[Se,Nn,Bn,jn,Zn,ss,Ze],Q=document.documentElement,is=matchMedia("(prefers-color-scheme: dark)");function ce(o){if(o instanceof DOMException&&o.name==="Ab\
ortError")return;let t=o instanceof Error?o.message:String(o);Q.dataset.error??=t,Tt.hidden=!1,x(Tt,t)}addEventListener("error",o=>ce(o.error??o.message));addEventListener(
"unhandledrejection",o=>ce(o.reason));var Tt=a("p",{class:"trouble",role:"alert",hidden:!0}),ct=a("main",{id:"main",tabindex:"-1"}),en=class{constructor(t){this.
session=t;let e=tn.filter(n=>this.offers(n));document.body.replaceChildren(a("a",{class:"skip",href:"#main",on:{click:n=>(n.preventDefault(),ct.focus())}},"Skip\
 to the view"),a("header",{class:"top"},a("h1",null,"stepscope"),this.nav,a("span",{class:"space"}),this.picker,a("button",{class:"quiet",title:"Light or dark (\
key: \\)","aria-label":"Light or dark",on:{click:()=>this.turn()}},"◐"),a("button",{class:"quiet",title:"Keys (key: ?)","aria-label":"Keys",on:{click:()=>dispatchEvent(
new KeyboardEvent("keydown",{key:"?"}))}},"?")),Tt,ct),e.forEach((n,s)=>this.keys.bind(String(s+1),"Everywhere","show "+n.title,()=>this.open(n.id))),this.keys.
bind("\\","Everywhere","light or dark",()=>this.turn()),this.picker.addEventListener("change",()=>this.store.go(P(this.store.params,{tab:this.tab().id,c:this.picker.
value}))),this.store.follow((n,s)=>this.change(n,s)),is.addEventListener("change",()=>this.paint()),on(()=>this.ready()),this.change(this.store.params,{})}session;store=new At;keys=new Et;view=null;shown="";loose=[];nav=a(
"nav",{"aria-label":"Views"});picker=a("select",{"aria-label":"Capture",class:"capture"});offers(t){switch(t.needs){case"capture":return this.session.captures.length>
0||this.session.runs;case"server":return!this.session.exported;case"runs":return this.session.runs;case"nothing":return!0}}tab(){let{tab:t}=this.store.params,e=tn.
filter(s=>this.offers(s)),n=this.session.captures.length>0?Se:Ze;return e.find(s=>s.id===t)??e.find(s=>s===n)??e[0]}open(t){this.store.go(P(this.store.params,{tab:t}))}turn(){
this.store.set({theme:Q.dataset.theme==="dark"?"light":"dark"})}paint(){let{theme:t}=this.store.params,e=Q.dataset.theme;Q.dataset.theme=t==="light"||t==="dark"?
t:is.matches?"dark":"light",Q.dataset.theme!==e&&this.view?.restyle?.()}change(t,e){delete Q.dataset.ready,this.paint();let n=this.tab(),s=this.session.captures,
i=s.find(h=>h.id===t.c)??(t.c===void 0?s[0]:void 0),r=JSON.stringify([n.id,t.c??s[0]?.id]);r===this.shown?this.view?.update?.(t,e):this.show(n,r,{session:this.session,
store:this.store,keys:this.scoped(),capture:i}),this.head(n,t),mt()&&this.ready()}scoped(){for(let n of this.loose.splice(0))n();let t=this.keys,e=this.loose;return Object.
assign(Object.create(t),{bind(...n){let s=t.bind(...n);return e.push(s),s}})}show(t,e,n){this.view?.close?.(),this.shown=e,Tt.hidden=!0,delete Q.dataset.error;try{
this.view=t.open(n),ct.className="view-"+t.id,ct.replaceChildren(this.view.el)}catch(s){this.view=null,ct.replaceChildren(),ce(s)}}head(t,e){x(this.nav,...tn.filter(
s=>this.offers(s)).map(s=>a("a",{href:N(P(e,{tab:s.id})),"aria-current":s===t?"page":null},s.title)));let n=this.session.captures;this.picker.hidden=n.length<2,
this.picker.hidden||(x(this.picker,...n.map(s=>a("option",{value:s.id},s.title))),this.picker.value=e.c??n[0].id),document.title=`${t.title} · ${n.find(s=>s.id===
e.c)?.title??n[0]?.title??"runs"} · stepscope`}ready(){requestAnimationFrame(()=>requestAnimationFrame(()=>{mt()&&(Q.dataset.ready="1")}))}};document.body.replaceChildren(
Tt,ct);M("session").then(o=>new en(o)).catch(ce);})();
