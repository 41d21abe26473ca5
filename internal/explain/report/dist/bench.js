"use strict";(()=>{function w(r){let[s,e]=r.split("."),t=s.replace(/\B(?=(\d{3})+$)/g,",");return e===void 0?t:t+"."+e}function O(r){if(r===0)return"0";let s=Math.floor(Math.log10(
Math.abs(r)));return Math.abs(r)>=Math.pow(10,s+1)*(1-5e-4)&&s++,w(r.toFixed(Math.min(Math.max(2-s,0),20)))}function U(r,s){let e=s[s.length-1];if(r===0)return"\
0 "+e[1];for(let[t,n]of s)if(Math.abs(r)/t>=.9995)return(t===1&&Number.isInteger(r)?w(String(r)):O(r/t))+" "+n;return O(r)+" "+e[1]}function x(r){return U(r,[[1e9,
"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function v(r,s){if(!(r>0))return[0];let e=r/s,t=Math.pow(10,Math.floor(Math.log10(e))),n=[1,2,5,10].find(o=>o*t>=e*.999)||10,i=[];for(let o=0;o<=r*1.0001;o+=n*t)
i.push(o);return i}function J(){let{theme:r}=document.documentElement.dataset;return r==="dark"||r!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function j(){let r=getComputedStyle(
document.documentElement),s=J()?2:1;return e=>/light-dark\((.*), *(.*)\)/.exec(r.getPropertyValue("--"+e))?.[s]??"#888888"}var M=[];function q(r){let s=document.
documentElement;matchMedia("(prefers-color-scheme: dark)").addEventListener("change",r),addEventListener("beforeprint",()=>{s.dataset.theme="light",s.dataset.print=
"1",document.querySelectorAll("details").forEach(e=>e.open=!0),r()}),addEventListener("afterprint",()=>{delete s.dataset.theme,delete s.dataset.print,r()}),r(),
s.dataset.ready="1"}var y=class{constructor(s,e,t={}){this.height=e;this.canvas=typeof s=="string"?document.getElementById(s):s,this.left=t.left??58,this.bottom=
t.bottom??22,this.canvas.style.height=e+"px",M.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.width||this.
draw())),this.sizes.observe(this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),M.splice(M.indexOf(this),1)}area(){return{
x:this.left,y:6,w:Math.max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let s=this.canvas.clientWidth,e=window.devicePixelRatio||
1;if(s===0)return;this.width=s,this.canvas.width=Math.round(s*e),this.canvas.height=Math.round(this.height*e);let t=this.pen();t&&(this.paint(t),this.ground??=document.
createElement("canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.
mark(t),this.canvas.dataset.drawn="1")}again(){let s=this.pen();if(!s||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();s.ctx.setTransform(
1,0,0,1,0,0),s.ctx.clearRect(0,0,this.canvas.width,this.canvas.height),s.ctx.drawImage(this.ground,0,0),this.mark({...s,ctx:this.scale(s.ctx)})}scale(s){let e=window.
devicePixelRatio||1;return s.setTransform(e,0,0,e,0,0),s}pen(){let s=this.canvas.getContext("2d");return s?(this.scale(s).font="11px system-ui, sans-serif",{ctx:s,
area:this.area(),color:j()}):null}paint(s){}mark(s){}yAxis({ctx:s,area:e,color:t},n,i){s.textAlign="right",s.textBaseline="middle";for(let o of v(n,Math.max(e.h/
45,2))){let a=e.y+e.h*(1-o/n);s.fillStyle=t("line"),s.fillRect(e.x,Math.round(a),e.w,1),s.fillStyle=t("soft"),s.fillText(i(o),e.x-6,a)}}};function W(){let r=document.
getElementById("tip");if(r)return r;let s=document.createElement("div");return s.id="tip",s.setAttribute("role","status"),document.body.appendChild(s)}function L(r,s,e,t){
let n=W(),i=document.createElement("dl");for(let[p,m]of t.rows){let u=document.createElement("dt"),c=document.createElement("dd");u.textContent=p,c.textContent=
m,i.append(u,c)}let o=document.createElement("strong");o.textContent=t.title,n.replaceChildren(o,i),n.hidden=!1;let a=r.getBoundingClientRect(),h=n.getBoundingClientRect(),
d=document.documentElement.clientWidth,l=a.left+s+14;l+h.width>d-8&&(l=Math.max(a.left+s-14-h.width,4));let f=a.top+e+14;f+h.height>window.innerHeight-4&&(f=Math.
max(a.top+e-14-h.height,4)),n.style.left=l+window.scrollX+"px",n.style.top=f+window.scrollY+"px"}function E(){W().hidden=!0}var T=class{constructor(s){this.cols=
s;this.hi=Math.max(s,1)}cols;lo=0;hi;col=-1;row=0;plots=[];pending=0;moved=!1;changed(s){this.moved||=s,!this.pending&&(this.pending=requestAnimationFrame(()=>{
let e=this.moved;this.pending=0,this.moved=!1;for(let t of this.plots)e?t.draw():t.again()}))}zoom(s,e){let t=Math.min(Math.max(e-s,4),this.cols),n=(s+e)/2;this.
lo=Math.min(Math.max(n-t/2,0),this.cols-t),this.hi=this.lo+t,this.changed(!0)}point(s){this.col=s<0?-1:Math.min(s,this.cols-1);let e=this.hi-this.lo;this.col>=0&&
(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-e/2,this.col+.5+e/2),this.changed(!1)}};function Q(r){let s=["decode","prefill","mixed","other","idle"].indexOf(r);return"k"+(s<0?3:s)}var C=class extends y{constructor(e,t,n,i,o){super(e,t,{left:o,bottom:28});this.data=n;this.view=i;this.grid=n.grid,i.plots.push(this),this.listen()}data;view;grid;x(e,t){
return t.x+(e-this.view.lo)/(this.view.hi-this.view.lo)*t.w}colAt(e){let t=this.area();return this.view.lo+(e-t.x)/t.w*(this.view.hi-this.view.lo)}colOf(e){let{
first:t,last:n}=this.grid,i=0,o=t.length-1;for(;i<o;){let a=i+o+1>>1;t[a]<=e?i=a:o=a-1}return t.length&&t[i]<=e&&e<=n[i]?i:-1}stepName(e){let t=this.grid,n=t.kind[e]<
0?"several kinds":this.data.kinds[t.kind[e]];return(t.first[e]===t.last[e]?"step "+t.first[e]:`steps ${t.first[e]}–${t.last[e]}`)+", "+n}xAxis({ctx:e,area:t,color:n}){
let i=this.grid,o=this.view,a=t.y+t.h,h=Math.max(Math.floor(o.lo),0),d=Math.min(Math.ceil(o.hi),i.cols);if(this.data.kinds.length>1)for(let u=h;u<d;u++){let c=Math.
max(this.x(u,t),t.x),g=Math.min(this.x(u+1,t),t.x+t.w);e.fillStyle=n(i.kind[u]<0?"k4":Q(this.data.kinds[i.kind[u]])),e.fillRect(c,a+3,Math.max(g-c-(g-c>3?1:0),.5),
4)}e.textAlign="center",e.textBaseline="top",e.fillStyle=n("soft");let l=(d-h)*i.bucket,f=v(l,Math.max(t.w/70,2)),p=Math.max(Math.round(f.length>1?f[1]:1),1),m=-1/0;
for(let u=h;u<d;u++){let c=Math.ceil(i.first[u]/p)*p,g=this.x(u+(i.bucket===1?.5:(c-i.first[u])/i.bucket),t);c>i.last[u]||g-m<30||g<t.x||g>t.x+t.w||(e.fillText(
String(c),g,a+10),m=g)}}mark({ctx:e,area:t,color:n}){let i=this.view.col;if(i<this.view.lo-1||i>this.view.hi)return;let o=Math.max(this.x(i,t),t.x),a=Math.min(this.
x(i+1,t),t.x+t.w);i<0||a<=o||(e.strokeStyle=n("mark"),e.globalAlpha=.7,e.strokeRect(o+.5,t.y+.5,Math.max(a-o-1,1),t.h-1),e.globalAlpha=1)}tip(e,t){return null}rowAt(e){
return 0}rows(){return 1}point(e,t,n,i){this.rows()>1&&(this.view.row=t),this.view.point(e);let o=this.tip(this.view.col,t),a=this.area();if(!o)return E();L(this.
canvas,n??this.x(this.view.col+.5,a),i??a.y+a.h*(t+.5)/this.rows(),o)}listen(){let e=this.canvas,t=this.view,n=NaN;e.addEventListener("pointerdown",i=>{n=i.offsetX}),
e.addEventListener("pointermove",i=>{let o=Math.floor(this.colAt(i.offsetX));if(o<0||o>=this.grid.cols||i.offsetX<this.left)return this.leave();this.point(o,this.
rowAt(i.offsetY),i.offsetX,i.offsetY)}),e.addEventListener("pointerup",i=>{if(Math.abs(i.offsetX-n)>8){let o=this.colAt(n),a=this.colAt(i.offsetX);t.zoom(Math.min(
o,a),Math.max(o,a))}n=NaN}),e.addEventListener("pointerleave",()=>this.leave()),e.addEventListener("blur",()=>this.leave()),e.addEventListener("dblclick",()=>t.
zoom(0,t.cols)),e.addEventListener("keydown",i=>{this.key(i.key,i.shiftKey)&&i.preventDefault()})}leave(){E(),this.view.point(-1)}key(e,t){let n=this.view,i=n.col<
0?Math.floor(n.lo):n.col,o=n.col<0?(n.lo+n.hi)/2:n.col+.5,a=(n.hi-n.lo)/2,h=t?10:1,d=this.rows()>1?n.row:0;switch(e){case"ArrowLeft":return this.point(Math.max(
i-h,0),d),!0;case"ArrowRight":return this.point(Math.min(n.col<0?i:i+h,n.cols-1),d),!0;case"ArrowUp":case"ArrowDown":return this.rows()<2?!1:(this.point(i,Math.
min(Math.max(n.row+(e==="ArrowUp"?-h:h),0),this.rows()-1)),!0);case"Home":return this.point(0,d),!0;case"End":return this.point(n.cols-1,d),!0;case"+":case"=":return n.
zoom(o-a/2,o+a/2),!0;case"-":return n.zoom(o-a*2,o+a*2),!0;case"Escape":return this.leave(),n.zoom(0,n.cols),!0}return!1}};function V(r){let s=r.tBodies[0],e=[...s.rows],t=[...r.tHead?.rows[0].cells??[]],n=r.parentElement,i=e.length<=15,o="",a="",h=t.findIndex(m=>m.textContent==="ki\
nd"),d=h<0?[]:[...new Set(e.map(m=>m.cells[h].textContent??""))],l=document.createElement("button");l.type="button",l.className="more";let f=document.createElement(
"span"),p=()=>{let m=0,u=0;for(let c of s.rows){let g=(o===""||(c.textContent??"").toLowerCase().includes(o))&&(a===""||c.cells[h].textContent===a);g&&m++,c.hidden=
!g||!i&&u>=12,c.hidden||u++}l.hidden=m<=12||e.length<=15,l.textContent=i?"Show the first 12 only":`Show all ${m}`,f.textContent=o===""?"":`${m} of ${e.length} r\
ows`};if(l.addEventListener("click",()=>{i=!i,p()}),r.addEventListener("reveal",()=>{i=!0,o=a="",r.parentElement?.previousElementSibling?.querySelectorAll("inpu\
t[type=search], select").forEach(m=>m.value=""),p()}),t.forEach((m,u)=>{if(!m.textContent)return;let c=document.createElement("button");c.type="button",c.textContent=
m.textContent,m.replaceChildren(c),c.addEventListener("click",()=>{let g=e.some(k=>k.cells[u].dataset.v!==void 0),I=m.ariaSort,N=I?I==="ascending":g;for(let k of t)
k.removeAttribute("aria-sort");m.ariaSort=N?"descending":"ascending",e.sort((k,K)=>{let F=k.cells[u],$=K.cells[u],X=g?Number(F.dataset.v??0)-Number($.dataset.v??
0):(F.textContent??"").localeCompare($.textContent??"");return N?-X:X}),s.append(...e),p()})}),e.length>8||r.dataset.names){let m=document.createElement("div");
if(m.className="tabletools",d.length>1&&e.length>8){let u=document.createElement("label"),c=document.createElement("select");c.add(new Option("every kind",""));
for(let g of d)c.add(new Option(g==="all"?"all together":g,g));d.includes("all")&&(a=c.value="all"),c.addEventListener("change",()=>{a=c.value,p()}),u.append("S\
teps of kind ",c),m.append(u)}if(e.length>8){let u=document.createElement("label"),c=document.createElement("input");c.type="search",c.addEventListener("input",
()=>{o=c.value.trim().toLowerCase(),p()}),u.append("Filter ",c),m.append(u,f),f.setAttribute("role","status")}if(r.dataset.names){let u=document.createElement("\
label"),c=document.createElement("input");c.type="checkbox",c.addEventListener("change",()=>r.classList.toggle("names",c.checked)),u.append(c," full names"),m.append(
u)}n.before(m)}n.after(l),p()}var A=class extends C{constructor(e,t,n,i){super(e,t,{kinds:[],grid:{cols:n.running.length}},i,64);this.bench=n}bench;at(e,t){return this.x(e/this.bench.bin_ns,
t)}when(e,t){return this.bench.at[e]+(this.bench.at_once?Math.max(t[e],0):0)}shade({ctx:e,area:t,color:n}){for(let[i,o,a]of[[this.bench.steady,"info",.1],[this.
bench.profiled,"k3",.22]]){e.fillStyle=n(o),e.globalAlpha=a;for(let h of i){let d=Math.max(this.at(h.from,t),t.x),l=Math.min(this.at(h.to,t),t.x+t.w);l>d&&e.fillRect(
d,t.y,l-d,t.h)}e.globalAlpha=1}}xAxis({ctx:e,area:t,color:n}){let i=this.bench.bin_ns,o=this.view.lo*i,a=this.view.hi*i,h=v(a-o,Math.max(t.w/110,2)),d=h.length>
1?h[1]:a-o||1;e.fillStyle=n("soft"),e.textBaseline="top",e.textAlign="center";for(let l=Math.ceil(o/d)*d;l<=a;l+=d)e.fillText(l===0?"0":x(Math.round(l)),Math.min(
this.at(l,t),t.x+t.w-14),t.y+t.h+5)}inside({ctx:e,area:t},n){e.save(),e.beginPath(),e.rect(t.x,t.y,t.w,t.h),e.clip(),n(),e.restore()}stairs({ctx:e,area:t,color:n},i,o,a,h){
let d=l=>t.y+t.h*(1-l/o);e.beginPath(),i.forEach((l,f)=>{e.lineTo(this.x(f,t),d(l)),e.lineTo(this.x(f+1,t),d(l))}),e.strokeStyle=e.fillStyle=n(a),e.lineWidth=1.5,
e.stroke(),h&&(e.lineTo(this.x(i.length,t),t.y+t.h),e.lineTo(this.x(0,t),t.y+t.h),e.globalAlpha=.18,e.fill(),e.globalAlpha=1)}top(e){let t=0;for(let n=Math.max(
Math.floor(this.view.lo),0);n<Math.min(Math.ceil(this.view.hi),e.length);n++)t=Math.max(t,e[n]);return t*1.06||1}tip(e){let t=this.bench;if(e<0||e>=t.running.length)
return null;let n=[],i=a=>a>=e*t.bin_ns&&a<(e+1)*t.bin_ns,o=G(t.at,i);o.length&&n.push(["requests sent",String(o.length)]);for(let[a,h]of[["TTFT",t.ttft],["E2E",
t.e2e]]){let d=h.reduce((l,f,p)=>f>l&&i(this.when(p,h))?f:l,-1);d>=0&&n.push(["longest "+a,x(d)])}return t.embedding||n.push([S(t)?"output tokens in the busiest\
 second":"output tokens in the last second",B(t.busiest[e])]),!t.embedding&&S(t)&&n.push(["output tokens/s, mean",B(t.tokens[e]/(t.bin_ns/1e9))]),n.push(["under\
 way at most",w(String(t.most[e]))],["under way, mean",t.running[e].toFixed(1)]),t.embedding||n.push(["in decode, mean",t.decode[e].toFixed(1)]),n.push(["ended",
String(t.ended[e])]),t.failed[e]&&n.push(["failed",String(t.failed[e])]),{title:`${e?x(e*t.bin_ns):"0"} – ${x((e+1)*t.bin_ns)}`,rows:n}}};function G(r,s){let e=[];
return r.forEach((t,n)=>s(t,n)&&e.push(n)),e}function B(r){return r===0?"0":r>=99.95?w(String(Math.round(r))):r.toFixed(1)}function Z(r,s){let e=[];for(let t=Math.
pow(10,Math.floor(Math.log10(r)));t<=s;t*=10)for(let n of[1,2,5])n*t>=r&&n*t<=s&&e.push(n*t);return e.length>7?e.filter(t=>Math.abs(Math.log10(t)%1)<1e-6||Math.
abs(Math.log10(t)%1-1)<1e-6):e}var D=class extends A{log=!0;constructor(s,e){super("latency",300,s,e)}paint(s){let{ctx:e,area:t,color:n}=s,i=this.bench;this.shade(
s);let o=l=>G(l,(f,p)=>this.when(p,l)>=this.view.lo*i.bin_ns&&this.when(p,l)<=this.view.hi*i.bin_ns),a=1/0,h=0;for(let l of[i.ttft,i.e2e])for(let f of o(l))l[f]>
0&&(a=Math.min(a,l[f]),h=Math.max(h,l[f]));h===0&&(a=1e6,h=1e9),h*=1.1,a*=.9,this.log&&h/a<10&&(a=h/10);let d=l=>t.y+t.h*(this.log?1-Math.log(l/a)/Math.log(h/a):
1-l/h);if(this.log){e.textAlign="right",e.textBaseline="middle";for(let l of Z(a,h))e.fillStyle=n("line"),e.fillRect(t.x,Math.round(d(l)),t.w,1),e.fillStyle=n("\
soft"),e.fillText(x(l),t.x-6,d(l))}else this.yAxis(s,h,x);this.inside(s,()=>{for(let[l,f]of[["ttft",i.ttft],["e2e",i.e2e]]){e.strokeStyle=e.fillStyle=n(l==="ttf\
t"?"k0":"k1");let p=i.limits[l];p&&(!this.log||p>a)&&(e.setLineDash([6,4]),e.beginPath(),e.moveTo(t.x,d(p)),e.lineTo(t.x+t.w,d(p)),e.stroke(),e.setLineDash([])),
e.globalAlpha=.75;for(let m of o(f))f[m]>0&&(e.beginPath(),e.arc(this.at(this.when(m,f),t),d(f[m]),2,0,7),e.fill());e.globalAlpha=1}e.fillStyle=n("high");for(let l of o(
i.e2e))i.ttft[l]<0&&i.e2e[l]<0&&e.fillRect(this.at(i.at[l],t)-1,t.y+t.h-10,2,10)}),this.xAxis(s)}};function S(r){return r.bin_ns>=1e9}var _=class extends A{paint(s){
let e=this.bench,t=this.top(e.busiest);this.shade(s),this.yAxis(s,t,B),this.inside(s,()=>{this.stairs(s,e.busiest,t,"compute",!S(e)),S(e)&&this.stairs(s,e.tokens.
map(n=>n/(e.bin_ns/1e9)),t,"k1",!0)}),this.xAxis(s)}},H=class extends A{paint(s){let{ctx:e,area:t,color:n}=s,i=this.bench,o=this.top(i.most);this.shade(s),this.
yAxis(s,o,a=>w(String(a))),this.inside(s,()=>{this.stairs(s,i.most,o,"host",!0),i.embedding||this.stairs(s,i.decode,o,"k0",!1),e.fillStyle=n("high"),i.failed.forEach(
(a,h)=>{a&&e.fillRect(this.x(h,t),t.y+t.h-10,Math.max(this.x(h+1,t)-this.x(h,t),2),10)})}),this.xAxis(s)}},z=class extends y{constructor(e){super("spread-"+e.name,
220,{left:64,bottom:26});this.spread=e;this.nines=Math.max(Math.log10(e.n),.31),this.canvas.addEventListener("pointermove",t=>{let n=this.area(),i=1-Math.pow(10,
-(t.offsetX-n.x)/n.w*this.nines),o=0;e.shares.forEach((a,h)=>a<=i&&(o=h)),this.point(o,t.offsetX,t.offsetY)}),this.canvas.addEventListener("pointerleave",()=>this.
point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.addEventListener("keydown",t=>{let n=e.shares.length-1,i=t.shiftKey?10:1;if(t.key===
"ArrowRight")this.point(Math.min(this.i+i,n));else if(t.key==="ArrowLeft")this.point(Math.max(this.i-i,0));else if(t.key==="Home")this.point(0);else if(t.key===
"End")this.point(n);else if(t.key==="Escape")this.point(-1);else return;t.preventDefault()})}spread;i=-1;nines;x(e,t){return t.x+t.w*Math.min(-Math.log10(Math.max(
1-e,1e-12))/this.nines,1)}point(e,t,n){if(this.i=e,this.again(),e<0)return E();let i=this.spread;L(this.canvas,t??this.x(i.shares[e],this.area()),n??20,{title:i.
title,rows:[["percentile",i.shares[e]===1?"longest":"p"+Number((i.shares[e]*100).toPrecision(6))],["value",x(i.values[e])]]})}paint(e){let{ctx:t,area:n,color:i}=e,
o=this.spread,a=this.top(),h=l=>n.y+n.h*(1-l/a);this.yAxis(e,a,x),t.textBaseline="top";let d=-1/0;for(let[l,f]of[[0,"min"],[.5,"p50"],[.9,"p90"],[.99,"p99"],[.999,
"p99.9"],[.9999,"p99.99"],[.99999,"p99.999"]]){if(-Math.log10(1-l)>this.nines)break;let p=this.x(l,n),m=t.measureText(f).width,u=Math.min(p-m/2,n.x+n.w+8-m);t.fillStyle=
i("line"),t.fillRect(Math.round(p),n.y,1,n.h),!(u<d+4)&&(t.fillStyle=i("soft"),t.textAlign="left",t.fillText(f,u,n.y+n.h+6),d=u+m)}o.limit>0&&o.limit<a&&(t.strokeStyle=
i("high"),t.setLineDash([6,4]),t.beginPath(),t.moveTo(n.x,h(o.limit)),t.lineTo(n.x+n.w,h(o.limit)),t.stroke(),t.setLineDash([])),t.beginPath(),o.values.forEach(
(l,f)=>t.lineTo(this.x(o.shares[f],n),h(l))),t.strokeStyle=i("k0"),t.lineWidth=2,t.stroke()}mark({ctx:e,area:t,color:n}){if(this.i<0)return;let i=this.spread,o=this.
top();e.fillStyle=n("mark"),e.beginPath(),e.arc(this.x(i.shares[this.i],t),t.y+t.h*(1-i.values[this.i]/o),3.5,0,7),e.fill()}top(){return this.spread.values[this.
spread.values.length-1]*1.06||1}};function P(r,s){let e=document.getElementById(r);for(let[t,n]of s){let i=document.createElement("span"),o=document.createElement(
"i");i.className="key",o.style.background=`var(--${t})`,i.append(o,n),e?.append(i)}}var tt=document.documentElement,Y=r=>{tt.dataset.error??=String(r)};addEventListener(
"error",r=>Y(r.message));var b=JSON.parse(document.getElementById("data")?.textContent??"{}"),R=new T(b.running.length);try{let r=new D(b,R),s=document.getElementById(
"latency-log");s.addEventListener("change",()=>{r.log=s.checked,r.draw()}),b.embedding||new _("tokens",170,b,R),new H("running",170,b,R);let e=[["high","failed"]];
b.steady.length&&e.push(["info","steady window (shaded)"]),b.profiled.length&&e.push(["k3","captured window (shaded)"]),P("latency-keys",[...b.embedding?[]:[["k\
0","TTFT"]],["k1","E2E"],...e]),S(b)&&P("tokens-keys",[["compute","busiest second"],["k1","mean"]]),P("running-keys",[["host","under way, the most at one moment"],
...b.embedding?[]:[["k0","in decode, mean"]],...e]),b.spreads.forEach(t=>new z(t)),document.querySelectorAll("main .scroll table").forEach(t=>V(t))}catch(r){Y(r)}
q(()=>M.forEach(r=>r.draw()));})();
