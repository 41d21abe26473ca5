"use strict";(()=>{function v(o){let[i,t]=o.split("."),e=i.replace(/\B(?=(\d{3})+$)/g,",");return t===void 0?e:e+"."+t}function O(o){if(o===0)return"0";let i=Math.floor(Math.log10(
Math.abs(o)));return Math.abs(o)>=Math.pow(10,i+1)*(1-5e-4)&&i++,v(o.toFixed(Math.min(Math.max(2-i,0),20)))}function Q(o,i){let t=i[i.length-1];if(o===0)return"\
0 "+t[1];for(let[e,n]of i)if(Math.abs(o)/e>=.9995)return(e===1&&Number.isInteger(o)?v(String(o)):O(o/e))+" "+n;return O(o)+" "+t[1]}function w(o){return Q(o,[[1e9,
"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function W(o,i){let[t,e]=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]].find(([s])=>Math.abs(o)>=s)??[1,"ns"],n=Math.min(Math.
max(Math.ceil(Math.log10(t/i)-1e-9),0),9);return o===0?"0":v((o/t).toFixed(n))+" "+e}function x(o,i){if(!(o>0))return[0];let t=o/i,e=Math.pow(10,Math.floor(Math.log10(t))),n=[1,2,5,10].find(r=>r*e>=t*.999)||10,s=[];for(let r=0;r<=o*1.0001;r+=n*e)
s.push(r);return s}function Z(){let{theme:o}=document.documentElement.dataset;return o==="dark"||o!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function tt(){let o=getComputedStyle(
document.documentElement),i=Z()?2:1;return t=>/light-dark\(\s*([^,]+?)\s*,\s*([^)]+?)\s*\)/.exec(o.getPropertyValue("--"+t))?.[i]??"#888888"}var E=[];function Y(o){
let i=document.documentElement;matchMedia("(prefers-color-scheme: dark)").addEventListener("change",o),addEventListener("beforeprint",()=>{i.dataset.theme="ligh\
t",i.dataset.print="1",document.querySelectorAll("details").forEach(t=>t.open=!0),o()}),addEventListener("afterprint",()=>{delete i.dataset.theme,delete i.dataset.
print,o()}),o(),i.dataset.ready="1"}var k=class{constructor(i,t,e={}){this.height=t;this.canvas=typeof i=="string"?document.getElementById(i):i,this.left=e.left??
58,this.bottom=e.bottom??22,this.canvas.style.height=t+"px",E.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.
width||this.draw())),this.sizes.observe(this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),E.splice(E.indexOf(this),
1)}area(){return{x:this.left,y:6,w:Math.max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let i=this.canvas.clientWidth,t=window.devicePixelRatio||
1;if(i===0)return;this.width=i,this.canvas.width=Math.round(i*t),this.canvas.height=Math.round(this.height*t);let e=this.pen();e&&(this.paint(e),this.ground??=document.
createElement("canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.
mark(e),this.canvas.dataset.drawn="1")}again(){let i=this.pen();if(!i||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();i.ctx.setTransform(
1,0,0,1,0,0),i.ctx.clearRect(0,0,this.canvas.width,this.canvas.height),i.ctx.drawImage(this.ground,0,0),this.mark({...i,ctx:this.sharp(i.ctx)})}sharp(i){let t=window.
devicePixelRatio||1;return i.setTransform(t,0,0,t,0,0),i}pen(){let i=this.canvas.getContext("2d");return i?(this.sharp(i).font="11px system-ui, sans-serif",{ctx:i,
area:this.area(),color:tt()}):null}paint(i){}mark(i){}yAxis({ctx:i,area:t,color:e},n,s){i.textAlign="right",i.textBaseline="middle";let r=Math.max(t.h/45,2),a=x(
n,r);for(let l=r+1;a.length<3&&l<r+6;l++)a=x(n,l);for(let l of a){let h=t.y+t.h*(1-l/n);i.fillStyle=e("line"),i.fillRect(t.x,Math.round(h),t.w,1),i.fillStyle=e(
"soft"),i.fillText(s(l),t.x-6,h)}}};function V(){let o=document.getElementById("tip");if(o)return o;let i=document.createElement("div");return i.id="tip",i.setAttribute(
"role","status"),document.body.appendChild(i)}function L(o,i,t,e){let n=V(),s=document.createElement("dl");for(let[p,d]of e.rows){let f=document.createElement("\
dt"),m=document.createElement("dd");f.textContent=p,m.textContent=d,s.append(f,m)}let r=document.createElement("strong");r.textContent=e.title,n.replaceChildren(
r,s),n.hidden=!1;let a=o.getBoundingClientRect(),l=n.getBoundingClientRect(),h=document.documentElement.clientWidth,u=a.left+i+14;u+l.width>h-8&&(u=Math.max(a.left+
i-14-l.width,4));let c=a.top+t+14;c+l.height>window.innerHeight-4&&(c=Math.max(a.top+t-14-l.height,4)),n.style.left=u+window.scrollX+"px",n.style.top=c+window.scrollY+
"px"}function T(){V().hidden=!0}var A=class{constructor(i,t=4){this.cols=i;this.least=t;this.hi=Math.max(i,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(i){
this.moved||=i,!this.pending&&(this.pending=requestAnimationFrame(()=>{let t=this.moved;this.pending=0,this.moved=!1;for(let e of this.plots)t?e.draw():e.again();
t&&this.whenMoved()}))}zoom(i,t){let e=Math.min(Math.max(t-i,this.least),this.cols),n=(i+t)/2;this.lo=Math.min(Math.max(n-e/2,0),this.cols-e),this.hi=this.lo+e,
this.changed(!0)}point(i){this.col=i<0?-1:Math.min(i,this.cols-1);let t=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+
.5-t/2,this.col+.5+t/2),this.changed(!1)}};function G(o){let i=o.tBodies[0],t=[...i.rows],e=[...o.tHead?.rows[0].cells??[]],n=o.parentElement,s=t.length<=15,r="",a="",l=e.findIndex(d=>d.textContent==="ki\
nd"),h=l<0?[]:[...new Set(t.map(d=>d.cells[l].textContent??""))],u=document.createElement("button");u.type="button",u.className="more";let c=document.createElement(
"span"),p=()=>{let d=0,f=0;for(let m of i.rows){let b=(r===""||(m.textContent??"").toLowerCase().includes(r))&&(a===""||m.cells[l].textContent===a);b&&d++,m.hidden=
!b||!s&&f>=12,m.hidden||f++}u.hidden=d<=12||t.length<=15,u.textContent=s?"Show the first 12 only":`Show all ${d}`,c.textContent=r===""?"":`${d} of ${t.length} r\
ows`};if(u.addEventListener("click",()=>{s=!s,p()}),o.addEventListener("reveal",()=>{s=!0,r=a="",o.parentElement?.previousElementSibling?.querySelectorAll("inpu\
t[type=search], select").forEach(d=>d.value=""),p()}),e.forEach((d,f)=>{if(!d.textContent)return;let m=document.createElement("button");m.type="button",m.textContent=
d.textContent,d.replaceChildren(m),m.addEventListener("click",()=>{let b=t.some(M=>M.cells[f].dataset.v!==void 0),z=d.ariaSort,I=z?z==="ascending":b;for(let M of e)
M.removeAttribute("aria-sort");d.ariaSort=I?"descending":"ascending",t.sort((M,j)=>{let $=M.cells[f],F=j.cells[f],X=b?Number($.dataset.v??0)-Number(F.dataset.v??
0):($.textContent??"").localeCompare(F.textContent??"");return I?-X:X}),i.append(...t),p()})}),t.length>8||o.dataset.names){let d=document.createElement("div");
if(d.className="tabletools",h.length>1&&t.length>8){let f=document.createElement("label"),m=document.createElement("select");m.add(new Option("every kind",""));
for(let b of h)m.add(new Option(b==="all"?"all together":b,b));h.includes("all")&&(a=m.value="all"),m.addEventListener("change",()=>{a=m.value,p()}),f.append("S\
teps of kind ",m),d.append(f)}if(t.length>8){let f=document.createElement("label"),m=document.createElement("input");m.type="search",m.addEventListener("input",
()=>{r=m.value.trim().toLowerCase(),p()}),f.append("Filter ",m),d.append(f,c),c.setAttribute("role","status")}if(o.dataset.names){let f=document.createElement("\
label"),m=document.createElement("input");m.type="checkbox",m.addEventListener("change",()=>o.classList.toggle("names",m.checked)),f.append(m," full names"),d.append(
f)}n.before(d)}n.after(u),p()}function et(o){let i=["decode","prefill","mixed","other","idle"].indexOf(o);return"k"+(i<0?3:i)}var C=class extends k{constructor(t,e,n,s,r,a=28){super(t,e,{left:r,bottom:a});this.data=n;this.view=s;this.grid=n.grid,s.plots.push(this),this.listen()}data;view;grid;x(t,e){
return e.x+(t-this.view.lo)/(this.view.hi-this.view.lo)*e.w}colAt(t){let e=this.area();return this.view.lo+(t-e.x)/e.w*(this.view.hi-this.view.lo)}colOf(t){let{
first:e,last:n}=this.grid,s=0,r=e.length-1;for(;s<r;){let a=s+r+1>>1;e[a]<=t?s=a:r=a-1}return e.length&&e[s]<=t&&t<=n[s]?s:-1}stepName(t){let e=this.grid,n=e.kind[t]<
0?"several kinds":this.data.kinds[e.kind[t]];return(e.first[t]===e.last[t]?"step "+e.first[t]:`steps ${e.first[t]}–${e.last[t]}`)+", "+n}xAxis({ctx:t,area:e,color:n}){
let s=this.grid,r=this.view,a=e.y+e.h,l=Math.max(Math.floor(r.lo),0),h=Math.min(Math.ceil(r.hi),s.cols);if(this.data.kinds.length>1)for(let f=l;f<h;f++){let m=Math.
max(this.x(f,e),e.x),b=Math.min(this.x(f+1,e),e.x+e.w);t.fillStyle=n(s.kind[f]<0?"k4":et(this.data.kinds[s.kind[f]])),t.fillRect(m,a+3,Math.max(b-m-(b-m>3?1:0),
.5),4)}t.textAlign="center",t.textBaseline="top",t.fillStyle=n("soft");let u=(h-l)*s.bucket,c=x(u,Math.max(e.w/70,2)),p=Math.max(Math.round(c.length>1?c[1]:1),1),
d=-1/0;for(let f=l;f<h;f++){let m=Math.ceil(s.first[f]/p)*p,b=this.x(f+(s.bucket===1?.5:(m-s.first[f])/s.bucket),e);m>s.last[f]||b-d<30||b<e.x||b>e.x+e.w||(t.fillText(
String(m),b,a+10),d=b)}}mark({ctx:t,area:e,color:n}){let s=this.view.col;if(s<this.view.lo-1||s>this.view.hi)return;let r=Math.max(this.x(s,e),e.x),a=Math.min(this.
x(s+1,e),e.x+e.w);s<0||a<=r||(t.strokeStyle=n("mark"),t.globalAlpha=.7,t.strokeRect(r+.5,e.y+.5,Math.max(a-r-1,1),e.h-1),t.globalAlpha=1)}tip(t,e){return null}tipAt(t,e){
return null}rowAt(t){return 0}rows(){return 1}point(t,e,n,s){this.rows()>1&&(this.view.row=e),this.view.point(t);let r=n!==void 0&&s!==void 0&&this.tipAt(n,s)||
this.tip(this.view.col,e),a=this.area();if(!r)return T();L(this.canvas,n??this.x(this.view.col+.5,a),s??a.y+a.h*(e+.5)/this.rows(),r)}onpick=null;listen(){let t=this.
canvas,e=this.view,n=NaN;t.addEventListener("pointerdown",s=>{n=s.offsetX}),t.addEventListener("pointermove",s=>{let r=Math.floor(this.colAt(s.offsetX));if(r<0||
r>=this.grid.cols||s.offsetX<this.left)return this.leave();this.point(r,this.rowAt(s.offsetY),s.offsetX,s.offsetY)}),t.addEventListener("pointerup",s=>{if(Math.
abs(s.offsetX-n)>8){let r=this.colAt(n),a=this.colAt(s.offsetX);e.zoom(Math.min(r,a),Math.max(r,a))}else e.col>=0&&this.onpick?.(e.col,this.rowAt(s.offsetY));n=
NaN}),t.addEventListener("pointerleave",()=>this.leave()),t.addEventListener("blur",()=>this.leave()),t.addEventListener("dblclick",()=>e.zoom(0,e.cols)),t.addEventListener(
"keydown",s=>{this.key(s.key,s.shiftKey)&&s.preventDefault()})}leave(){T(),this.view.point(-1)}key(t,e){let n=this.view,s=n.col<0?Math.floor(n.lo):n.col,r=n.col<
0?(n.lo+n.hi)/2:n.col+.5,a=(n.hi-n.lo)/2,l=e?10:1,h=this.rows()>1?n.row:0;switch(t){case"ArrowLeft":return this.point(Math.max(s-l,0),h),!0;case"ArrowRight":return this.
point(Math.min(n.col<0?s:s+l,n.cols-1),h),!0;case"ArrowUp":case"ArrowDown":return this.rows()<2?!1:(this.point(s,Math.min(Math.max(n.row+(t==="ArrowUp"?-l:l),0),
this.rows()-1)),!0);case"Home":return this.point(0,h),!0;case"End":return this.point(n.cols-1,h),!0;case"+":case"=":return n.zoom(r-a/2,r+a/2),!0;case"-":return n.
zoom(r-a*2,r+a*2),!0;case"Enter":return!this.onpick||n.col<0?!1:(this.onpick(n.col,h),!0);case"Escape":return this.leave(),n.zoom(0,n.cols),!0}return!1}};var S=class extends C{constructor(t,e,n,s,r=!0){super(t,e,{kinds:[],grid:{cols:n.running.length}},s,64,r?28:6);this.bench=n;this.axis=r}bench;axis;fine=null;at(t,e){
return this.x(t/this.bench.bin_ns,e)}sight(){return{from:this.view.lo*this.bench.bin_ns,to:this.view.hi*this.bench.bin_ns}}whenClicked(t){let e=NaN;this.canvas.
addEventListener("pointerdown",n=>e=n.offsetX),this.canvas.addEventListener("click",n=>{Math.abs(n.offsetX-e)<=8&&t(n.offsetX,n.offsetY)})}when(t,e){return this.
bench.at[t]+(this.bench.at_once?Math.max(e[t],0):0)}shade({ctx:t,area:e,color:n}){for(let[s,r,a]of[[this.bench.steady,"info",.1],[this.bench.profiled,"k3",.15]]){
t.fillStyle=n(r),t.globalAlpha=a;for(let l of s){let h=Math.max(this.at(l.from,e),e.x),u=Math.min(this.at(l.to,e),e.x+e.w);u>h&&t.fillRect(h,e.y,u-h,e.h)}t.globalAlpha=
1}}xAxis({ctx:t,area:e,color:n}){if(!this.axis)return;let s=this.bench.bin_ns,r=this.view.lo*s,a=this.view.hi*s,l=x(a-r,Math.max(e.w/110,2)),h=l.length>1?l[1]:a-
r||1;t.fillStyle=n("soft"),t.textBaseline="top",t.textAlign="center";for(let u=Math.ceil(r/h)*h;u<=a;u+=h)t.fillText(W(Math.round(u),h),Math.min(this.at(u,e),e.
x+e.w-14),e.y+e.h+5)}inside({ctx:t,area:e},n){t.save(),t.beginPath(),t.rect(e.x,e.y,e.w,e.h),t.clip(),n(),t.restore()}bins(){return this.fine??this.bench}stairs({
ctx:t,area:e,color:n},s,r,a,l){let h=this.bins(),u=p=>e.y+e.h*(1-p/r),c=p=>this.at(h.from_ns+p*h.bin_ns,e);t.beginPath(),s.forEach((p,d)=>{t.lineTo(c(d),u(p)),t.
lineTo(c(d+1),u(p))}),t.strokeStyle=t.fillStyle=n(a),t.lineWidth=1.5,t.stroke(),l&&(t.lineTo(c(s.length),e.y+e.h),t.lineTo(c(0),e.y+e.h),t.globalAlpha=.18,t.fill(),
t.globalAlpha=1)}top(t){let e=this.bins(),n=r=>(r*this.bench.bin_ns-e.from_ns)/e.bin_ns,s=0;for(let r=Math.max(Math.floor(n(this.view.lo)),0);r<Math.min(Math.ceil(
n(this.view.hi)),t.length);r++)s=Math.max(s,t[r]);return s*1.06||1}tip(t){let e=this.bench;if(t<0||t>=e.running.length)return null;let n=[],s=a=>a>=t*e.bin_ns&&
a<(t+1)*e.bin_ns,r=K(e.at,s);r.length&&n.push(["requests sent",String(r.length)]);for(let[a,l]of[["TTFT",e.ttft],["E2E",e.e2e]]){let h=l.reduce((u,c,p)=>c>u&&s(
this.when(p,l))?c:u,-1);h>=0&&n.push(["longest "+a,w(h)])}return e.embedding||n.push([y(e)?"output tokens in the busiest second":"output tokens in the last seco\
nd",H(e.busiest[t])]),!e.embedding&&y(e)&&n.push(["output tokens/s, mean",H(e.tokens[t]/(e.bin_ns/1e9))]),n.push(["under way at most",v(String(e.most[t]))],["un\
der way, mean",e.running[t].toFixed(1)]),e.embedding||n.push(["in decode, mean",e.decode[t].toFixed(1)]),n.push(["ended",String(e.ended[t])]),e.failed[t]&&n.push(
["failed",String(e.failed[t])]),{title:`${t?w(t*e.bin_ns):"0"} – ${w((t+1)*e.bin_ns)}`,rows:n}}};function K(o,i){let t=[];return o.forEach((e,n)=>i(e,n)&&t.push(
n)),t}function H(o){return o===0?"0":o>=99.95?v(String(Math.round(o))):o.toFixed(1)}function nt(o,i){let t=[];for(let e=Math.pow(10,Math.floor(Math.log10(o)));e<=
i;e*=10)for(let n of[1,2,5])n*e>=o&&n*e<=i&&t.push(n*e);return t.length>7?t.filter(e=>Math.abs(Math.log10(e)%1)<1e-6||Math.abs(Math.log10(e)%1-1)<1e-6):t}var P=[
["ttft","k1",1],["e2e","k0",2]],_=class extends S{log=!0;chosen=-1;range(){let i=1/0,t=0;for(let[e]of P)for(let n of this.shown(e))this.bench[e][n]>0&&(i=Math.min(
i,this.bench[e][n]),t=Math.max(t,this.bench[e][n]));return t===0&&(i=1e6,t=1e9),t*=1.1,i*=.9,this.log&&t/i<10&&(i=t/10),[i,t]}y(i,[t,e],n){return n.y+n.h*(this.
log?1-Math.log(i/t)/Math.log(e/t):1-i/e)}shown(i){let t=this.bench[i],{from:e,to:n}=this.sight();return K(t,(s,r)=>this.when(r,t)>=e&&this.when(r,t)<=n)}near(i,t){
let e=this.area(),n=this.range(),s=-1,r=64;for(let[a]of P){let l=this.bench[a];for(let h of this.shown(a)){let u=l[h]>0?this.y(l[h],n,e):a==="e2e"&&this.failed(
h)?e.y+e.h-5:NaN,c=(this.at(this.when(h,l),e)-i)**2+(u-t)**2;c<=r&&(r=c,s=h)}}return s}failed(i){return this.bench.ttft[i]<0&&this.bench.e2e[i]<0}paint(i){let{ctx:t,
area:e,color:n}=i,s=this.bench,r=this.range(),[a,l]=r;if(this.shade(i),this.log){t.textAlign="right",t.textBaseline="middle";for(let h of nt(a,l))t.fillStyle=n(
"line"),t.fillRect(e.x,Math.round(this.y(h,r,e)),e.w,1),t.fillStyle=n("soft"),t.fillText(w(h),e.x-6,this.y(h,r,e))}else this.yAxis(i,l,w);this.inside(i,()=>{for(let[
h,u,c]of P){let p=s.limits[h];p&&(!this.log||p>a)&&U(i,this.y(p,r,e),u),t.globalAlpha=.75;for(let d of this.shown(h))s[h][d]>0&&(t.fillStyle=n(s.touched[d]&c?"k\
4":u),t.beginPath(),t.arc(this.at(this.when(d,s[h]),e),this.y(s[h][d],r,e),2,0,7),t.fill());t.globalAlpha=1}t.fillStyle=n("high");for(let h of this.shown("e2e"))
this.failed(h)&&t.fillRect(this.at(s.at[h],e)-1,e.y+e.h-10,2,10)}),this.xAxis(i)}mark(i){super.mark(i);let{ctx:t,area:e,color:n}=i,s=this.chosen,r=this.bench,a=this.
range();s<0||this.inside(i,()=>{t.strokeStyle=n("mark"),t.lineWidth=2;for(let[l]of P)r[l][s]>0&&(t.beginPath(),t.arc(this.at(this.when(s,r[l]),e),this.y(r[l][s],
a,e),5,0,7),t.stroke())})}};function U({ctx:o,area:i,color:t},e,n){o.strokeStyle=t(n),o.lineWidth=1.5,o.setLineDash([6,4]),o.beginPath(),o.moveTo(i.x,e),o.lineTo(
i.x+i.w,e),o.stroke(),o.setLineDash([])}function y(o){return o.bin_ns>=1e9}var R=class extends S{paint(i){let t=this.bins(),e=this.fine!==null,n=this.top(e?t.tokens:
t.busiest);this.shade(i),this.yAxis(i,n,H),this.inside(i,()=>{if(e)return this.stairs(i,t.tokens,n,"compute",!0);this.stairs(i,t.busiest,n,"compute",!y(t)),y(t)&&
this.stairs(i,t.tokens.map(s=>s/(t.bin_ns/1e9)),n,"k1",!0)}),this.xAxis(i)}title(){let i=w(this.bins().bin_ns);return this.fine?`Output tokens in each ${i}`:y(this.
bench)?`Output tokens in the seconds of each ${i}`:"Output tokens in the last second"}},B=class extends S{queue=[];paint(i){let{ctx:t,area:e,color:n}=i,s=this.bench,
r=this.bins(),{from:a,to:l}=this.sight(),h=this.queue.filter(c=>c.at>=a&&c.at<=l),u=Math.max(this.top(r.most),...h.map(c=>c.queued*1.06));this.shade(i),this.yAxis(
i,u,c=>v(String(c))),this.inside(i,()=>{this.stairs(i,r.most,u,"host",!0),s.embedding||this.stairs(i,r.decode,u,"k0",!1),this.queue.length>0&&this.queued(i,u),t.
fillStyle=n("high"),r.failed.forEach((c,p)=>{let d=this.at(r.from_ns+p*r.bin_ns,e);c&&t.fillRect(d,e.y+e.h-10,Math.max(this.at(r.from_ns+(p+1)*r.bin_ns,e)-d,2),
10)})}),this.xAxis(i)}queued({ctx:i,area:t,color:e},n){i.beginPath();for(let s of this.queue)i.lineTo(this.at(s.at,t),t.y+t.h*(1-s.queued/n));i.strokeStyle=e("k\
3"),i.lineWidth=1.5,i.stroke()}},D=class extends k{constructor(t,e,n){super(t,e,{left:64,bottom:26});this.spread=n;this.nines=Math.max(Math.log10(n.n),.31),this.
canvas.addEventListener("pointermove",s=>{let r=this.area(),a=1-Math.pow(10,-(s.offsetX-r.x)/r.w*this.nines),l=0;n.shares.forEach((h,u)=>h<=a&&(l=u)),this.point(
l,s.offsetX,s.offsetY)}),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.addEventListener(
"keydown",s=>{let r=n.shares.length-1,a=s.shiftKey?10:1;if(s.key==="ArrowRight")this.point(Math.min(this.i+a,r));else if(s.key==="ArrowLeft")this.point(Math.max(
this.i-a,0));else if(s.key==="Home")this.point(0);else if(s.key==="End")this.point(r);else if(s.key==="Escape")this.point(-1);else return;s.preventDefault()})}spread;other=null;i=-1;nines;x(t,e){
return e.x+e.w*Math.min(-Math.log10(Math.max(1-t,1e-12))/this.nines,1)}point(t,e,n){if(this.i=t,this.again(),t<0)return T();let s=this.spread,r=s.shares[t],a=this.
other,l=[["percentile",r===1?"longest":"p"+Number((r*100).toPrecision(6))],["value",w(s.values[t])]];a&&l.push(["before",w(it(a,r))]),L(this.canvas,e??this.x(s.
shares[t],this.area()),n??20,{title:s.title,rows:l})}paint(t){let{ctx:e,area:n,color:s}=t,r=this.spread,a=this.top(),l=u=>n.y+n.h*(1-u/a);this.yAxis(t,a,w),e.textBaseline=
"top";let h=-1/0;for(let[u,c]of[[0,"min"],[.5,"p50"],[.9,"p90"],[.99,"p99"],[.999,"p99.9"],[.9999,"p99.99"],[.99999,"p99.999"]]){if(-Math.log10(1-u)>this.nines)
break;let p=this.x(u,n),d=e.measureText(c).width,f=Math.min(p-d/2,n.x+n.w+8-d);e.fillStyle=s("line"),e.fillRect(Math.round(p),n.y,1,n.h),!(f<h+4)&&(e.fillStyle=
s("soft"),e.textAlign="left",e.fillText(c,f,n.y+n.h+6),h=f+d)}r.limit>0&&r.limit<a&&U(t,l(r.limit),"high");for(let[u,c]of[[this.other,"k4"],[r,"k0"]])u&&(e.beginPath(),
u.values.forEach((p,d)=>e.lineTo(this.x(u.shares[d],n),l(p))),e.strokeStyle=s(c),e.lineWidth=2,e.stroke())}mark({ctx:t,area:e,color:n}){if(this.i<0)return;let s=this.
spread,r=this.top();t.fillStyle=n("mark"),t.beginPath(),t.arc(this.x(s.shares[this.i],e),e.y+e.h*(1-s.values[this.i]/r),3.5,0,7),t.fill()}top(){return Math.max(
this.spread.values.at(-1)??0,this.other?.values.at(-1)??0)*1.06||1}};function it(o,i){let t=o.shares.findIndex(e=>e>=i);return o.values[t<0?o.values.length-1:t]}function N(o,i){let t=document.getElementById(o);for(let[e,n]of i){let s=document.createElement("span"),r=document.createElement("i");s.className="key",r.style.
background=`var(--${e})`,s.append(r,n),t?.append(s)}}var st=document.documentElement,J=o=>{st.dataset.error??=String(o)};addEventListener("error",o=>J(o.message));
var g=JSON.parse(document.getElementById("data")?.textContent??"{}"),q=new A(g.running.length);try{let o=new _("latency",300,g,q),i=document.getElementById("lat\
ency-log");i.addEventListener("change",()=>{o.log=i.checked,o.draw()}),g.embedding||new R("tokens",170,g,q),new B("running",170,g,q);let t=[["high","failed"]];g.
steady.length&&t.push(["info","steady window (shaded)"]),g.profiled.length&&t.push(["k3","captured window (shaded)"]);let e=g.touched.some(n=>n>0)?[["k4","touch\
ed by it, excluded from figures"]]:[];N("latency-keys",[...g.embedding?[]:[["k1","TTFT"]],["k0","E2E"],...e,...t]),y(g)&&N("tokens-keys",[["compute","busiest se\
cond"],["k1","mean"]]),N("running-keys",[["host","under way, maximum"],...g.embedding?[]:[["k0","in decode, mean"]],...t]),g.spreads.forEach(n=>new D("spread-"+
n.name,220,n)),document.querySelectorAll("main .scroll table").forEach(n=>G(n))}catch(o){J(o)}Y(()=>E.forEach(o=>o.draw()));})();
