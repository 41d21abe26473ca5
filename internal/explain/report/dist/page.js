"use strict";(()=>{function tt(i){let[s,e]=i.split("."),t=s.replace(/\B(?=(\d{3})+$)/g,",");return e===void 0?t:t+"."+e}function K(i){if(i===0)return"0";let s=Math.floor(Math.log10(
Math.abs(i)));return Math.abs(i)>=Math.pow(10,s+1)*(1-5e-4)&&s++,tt(i.toFixed(Math.min(Math.max(2-s,0),20)))}function et(i,s){let e=s[s.length-1];if(i===0)return"\
0 "+e[1];for(let[t,n]of s)if(Math.abs(i)/t>=.9995)return(t===1&&Number.isInteger(i)?tt(String(i)):K(i/t))+" "+n;return K(i)+" "+e[1]}function x(i){return et(i,[
[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function D(i){return et(i,[[1e12,"TB"],[1e9,"GB"],[1e6,"MB"],[1e3,"kB"],[1,"B"]])}function S(i){return K(i*100)+" %"}function C(i){return(i>0?"+":"")+x(i)}function P(i,s){
if(!(i>0))return[0];let e=i/s,t=Math.pow(10,Math.floor(Math.log10(e))),n=[1,2,5,10].find(o=>o*t>=e*.999)||10,r=[];for(let o=0;o<=i*1.0001;o+=n*t)r.push(o);return r}function bt(){let{theme:i}=document.documentElement.dataset;return i==="dark"||i!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function wt(){let i=getComputedStyle(
document.documentElement),s=bt()?2:1;return e=>/light-dark\(\s*([^,]+?)\s*,\s*([^)]+?)\s*\)/.exec(i.getPropertyValue("--"+e))?.[s]??"#888888"}var $=[];function nt(i){
let s=document.documentElement;matchMedia("(prefers-color-scheme: dark)").addEventListener("change",i),addEventListener("beforeprint",()=>{s.dataset.theme="ligh\
t",s.dataset.print="1",document.querySelectorAll("details").forEach(e=>e.open=!0),i()}),addEventListener("afterprint",()=>{delete s.dataset.theme,delete s.dataset.
print,i()}),i(),s.dataset.ready="1"}var B=class{constructor(s,e,t={}){this.height=e;this.canvas=typeof s=="string"?document.getElementById(s):s,this.left=t.left??
58,this.bottom=t.bottom??22,this.canvas.style.height=e+"px",$.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.
width||this.draw())),this.sizes.observe(this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),$.splice($.indexOf(this),
1)}area(){return{x:this.left,y:6,w:Math.max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let s=this.canvas.clientWidth,e=window.devicePixelRatio||
1;if(s===0)return;this.width=s,this.canvas.width=Math.round(s*e),this.canvas.height=Math.round(this.height*e);let t=this.pen();t&&(this.paint(t),this.ground??=document.
createElement("canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.
mark(t),this.canvas.dataset.drawn="1")}again(){let s=this.pen();if(!s||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();s.ctx.setTransform(
1,0,0,1,0,0),s.ctx.clearRect(0,0,this.canvas.width,this.canvas.height),s.ctx.drawImage(this.ground,0,0),this.mark({...s,ctx:this.sharp(s.ctx)})}sharp(s){let e=window.
devicePixelRatio||1;return s.setTransform(e,0,0,e,0,0),s}pen(){let s=this.canvas.getContext("2d");return s?(this.sharp(s).font="11px system-ui, sans-serif",{ctx:s,
area:this.area(),color:wt()}):null}paint(s){}mark(s){}yAxis({ctx:s,area:e,color:t},n,r){s.textAlign="right",s.textBaseline="middle";for(let o of P(n,Math.max(e.
h/45,2))){let a=e.y+e.h*(1-o/n);s.fillStyle=t("line"),s.fillRect(e.x,Math.round(a),e.w,1),s.fillStyle=t("soft"),s.fillText(r(o),e.x-6,a)}}};function st(){let i=document.
getElementById("tip");if(i)return i;let s=document.createElement("div");return s.id="tip",s.setAttribute("role","status"),document.body.appendChild(s)}function z(i,s,e,t){
let n=st(),r=document.createElement("dl");for(let[d,f]of t.rows){let c=document.createElement("dt"),m=document.createElement("dd");c.textContent=d,m.textContent=
f,r.append(c,m)}let o=document.createElement("strong");o.textContent=t.title,n.replaceChildren(o,r),n.hidden=!1;let a=i.getBoundingClientRect(),h=n.getBoundingClientRect(),
l=document.documentElement.clientWidth,p=a.left+s+14;p+h.width>l-8&&(p=Math.max(a.left+s-14-h.width,4));let u=a.top+e+14;u+h.height>window.innerHeight-4&&(u=Math.
max(a.top+e-14-h.height,4)),n.style.left=p+window.scrollX+"px",n.style.top=u+window.scrollY+"px"}function I(){st().hidden=!0}var O=class{constructor(s,e=4){this.
cols=s;this.least=e;this.hi=Math.max(s,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(s){this.moved||=s,!this.pending&&
(this.pending=requestAnimationFrame(()=>{let e=this.moved;this.pending=0,this.moved=!1;for(let t of this.plots)e?t.draw():t.again();e&&this.whenMoved()}))}zoom(s,e){
let t=Math.min(Math.max(e-s,this.least),this.cols),n=(s+e)/2;this.lo=Math.min(Math.max(n-t/2,0),this.cols-t),this.hi=this.lo+t,this.changed(!0)}point(s){this.col=
s<0?-1:Math.min(s,this.cols-1);let e=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-e/2,this.col+.5+e/2),this.changed(
!1)}};function T(i,s){let e=document.createElement("span"),t=document.createElement("i");return e.className="key",t.style.background=`var(${i})`,e.append(t,s),e}function q(i){let s=["decode","prefill","mixed","other","idle"].indexOf(i);return"k"+(s<0?3:s)}function M(i,s){let e=i.filter(t=>t>0).sort((t,n)=>t-n);return e.
length?e[Math.floor(s*(e.length-1))]:0}var k=class extends B{constructor(e,t,n,r,o,a=28){super(e,t,{left:o,bottom:a});this.data=n;this.view=r;this.grid=n.grid,r.
plots.push(this),this.listen()}data;view;grid;x(e,t){return t.x+(e-this.view.lo)/(this.view.hi-this.view.lo)*t.w}colAt(e){let t=this.area();return this.view.lo+
(e-t.x)/t.w*(this.view.hi-this.view.lo)}colOf(e){let{first:t,last:n}=this.grid,r=0,o=t.length-1;for(;r<o;){let a=r+o+1>>1;t[a]<=e?r=a:o=a-1}return t.length&&t[r]<=
e&&e<=n[r]?r:-1}stepName(e){let t=this.grid,n=t.kind[e]<0?"several kinds":this.data.kinds[t.kind[e]];return(t.first[e]===t.last[e]?"step "+t.first[e]:`steps ${t.
first[e]}–${t.last[e]}`)+", "+n}xAxis({ctx:e,area:t,color:n}){let r=this.grid,o=this.view,a=t.y+t.h,h=Math.max(Math.floor(o.lo),0),l=Math.min(Math.ceil(o.hi),
r.cols);if(this.data.kinds.length>1)for(let c=h;c<l;c++){let m=Math.max(this.x(c,t),t.x),w=Math.min(this.x(c+1,t),t.x+t.w);e.fillStyle=n(r.kind[c]<0?"k4":q(this.
data.kinds[r.kind[c]])),e.fillRect(m,a+3,Math.max(w-m-(w-m>3?1:0),.5),4)}e.textAlign="center",e.textBaseline="top",e.fillStyle=n("soft");let p=(l-h)*r.bucket,u=P(
p,Math.max(t.w/70,2)),d=Math.max(Math.round(u.length>1?u[1]:1),1),f=-1/0;for(let c=h;c<l;c++){let m=Math.ceil(r.first[c]/d)*d,w=this.x(c+(r.bucket===1?.5:(m-r.first[c])/
r.bucket),t);m>r.last[c]||w-f<30||w<t.x||w>t.x+t.w||(e.fillText(String(m),w,a+10),f=w)}}mark({ctx:e,area:t,color:n}){let r=this.view.col;if(r<this.view.lo-1||r>
this.view.hi)return;let o=Math.max(this.x(r,t),t.x),a=Math.min(this.x(r+1,t),t.x+t.w);r<0||a<=o||(e.strokeStyle=n("mark"),e.globalAlpha=.7,e.strokeRect(o+.5,t.y+
.5,Math.max(a-o-1,1),t.h-1),e.globalAlpha=1)}tip(e,t){return null}tipAt(e,t){return null}rowAt(e){return 0}rows(){return 1}point(e,t,n,r){this.rows()>1&&(this.view.
row=t),this.view.point(e);let o=n!==void 0&&r!==void 0&&this.tipAt(n,r)||this.tip(this.view.col,t),a=this.area();if(!o)return I();z(this.canvas,n??this.x(this.view.
col+.5,a),r??a.y+a.h*(t+.5)/this.rows(),o)}onpick=null;listen(){let e=this.canvas,t=this.view,n=NaN;e.addEventListener("pointerdown",r=>{n=r.offsetX}),e.addEventListener(
"pointermove",r=>{let o=Math.floor(this.colAt(r.offsetX));if(o<0||o>=this.grid.cols||r.offsetX<this.left)return this.leave();this.point(o,this.rowAt(r.offsetY),
r.offsetX,r.offsetY)}),e.addEventListener("pointerup",r=>{if(Math.abs(r.offsetX-n)>8){let o=this.colAt(n),a=this.colAt(r.offsetX);t.zoom(Math.min(o,a),Math.max(
o,a))}else t.col>=0&&this.onpick?.(t.col,this.rowAt(r.offsetY));n=NaN}),e.addEventListener("pointerleave",()=>this.leave()),e.addEventListener("blur",()=>this.leave()),
e.addEventListener("dblclick",()=>t.zoom(0,t.cols)),e.addEventListener("keydown",r=>{this.key(r.key,r.shiftKey)&&r.preventDefault()})}leave(){I(),this.view.point(
-1)}key(e,t){let n=this.view,r=n.col<0?Math.floor(n.lo):n.col,o=n.col<0?(n.lo+n.hi)/2:n.col+.5,a=(n.hi-n.lo)/2,h=t?10:1,l=this.rows()>1?n.row:0;switch(e){case"A\
rrowLeft":return this.point(Math.max(r-h,0),l),!0;case"ArrowRight":return this.point(Math.min(n.col<0?r:r+h,n.cols-1),l),!0;case"ArrowUp":case"ArrowDown":return this.
rows()<2?!1:(this.point(r,Math.min(Math.max(n.row+(e==="ArrowUp"?-h:h),0),this.rows()-1)),!0);case"Home":return this.point(0,l),!0;case"End":return this.point(n.
cols-1,l),!0;case"+":case"=":return n.zoom(o-a/2,o+a/2),!0;case"-":return n.zoom(o-a*2,o+a*2),!0;case"Enter":return!this.onpick||n.col<0?!1:(this.onpick(n.col,l),
!0);case"Escape":return this.leave(),n.zoom(0,n.cols),!0}return!1}};var X=class extends k{rank=-1;share=!1;values=[];constructor(s,e,t="bars"){super(t,240,s,e),this.pick(-1)}pick(s){let e=this.grid,t=this.data.ranks.length;this.
rank=s,this.values=e.parts.map(({ns:n})=>{if(s>=0)return n.slice(s*e.cols,(s+1)*e.cols);let r=new Array(e.cols).fill(-1);for(let o=0;o<e.cols;o++){let a=0,h=0;for(let l=0;l<
t;l++){let p=n[l*e.cols+o];p>=0&&(a+=p,h++)}h&&(r[o]=a/h)}return r})}total(s){return this.values.reduce((e,t)=>e+Math.max(t[s],0),0)}paint(s){let{ctx:e,area:t,color:n}=s,
r=this.view,o=Math.max(Math.floor(r.lo),0),a=Math.min(Math.ceil(r.hi),this.grid.cols),h=[];for(let c=o;c<a;c++)h.push(this.total(c));let l=Math.max(...h,1),p=M(
h,.9),u=this.share?1:l>3*p&&p>0?p*1.3:l*1.05;this.yAxis(s,u,this.share?S:x),rt("bars",!this.share&&l>u?l:0);let d=this.grid.parts.map(c=>n(c.name)),f=t.w/(r.hi-
r.lo)>=5?1:0;for(let c=o;c<a;c++){let m=Math.max(this.x(c,t),t.x),w=Math.min(this.x(c+1,t),t.x+t.w),v=h[c-o],g=0;for(let b=0;b<this.values.length;b++){let y=Math.
max(this.values[b][c],0)/(this.share&&v||1),E=Math.min(g+y,u);E>g&&(e.fillStyle=d[b],e.fillRect(m,t.y+t.h*(1-E/u),Math.max(w-m-f,.6),t.h*(E-g)/u)),g=E}if(!this.
share&&v>u){let b=(m+w-f)/2;e.fillStyle=n("mark"),e.beginPath(),e.moveTo(b-4,t.y+7),e.lineTo(b+4,t.y+7),e.lineTo(b,t.y+1),e.fill()}}this.xAxis(s)}tip(s){let e=this.
rank<0?"mean over ranks":this.data.ranks[this.rank],t=this.total(s),n=[["total",x(Math.round(t))]];return this.grid.parts.forEach((r,o)=>{let a=Math.max(this.values[o][s],
0);a>0&&n.push([V(r.name),`${x(Math.round(a))} · ${S(a/(t||1))}`])}),{title:`${this.stepName(s)}, ${e}`,rows:n}}};function rt(i,s){let e=document.getElementById(
"cut-"+i),t=s?`▼ cut: up to ${x(Math.round(s))}`:"";e&&e.textContent!==t&&(e.textContent=t)}function V(i){return["compute","transfer","wait","unrecorded","cop\
y"].includes(i)?i:"idle: "+i}function Y(i,s,e){let t=document.createElement("span"),n=i.filter(o=>o.ns>0),r=n.reduce((o,a)=>o+a.ns,0);t.className="bar wide",t.role=
"img",t.ariaLabel=t.title=n.map(e).join(", "),t.style.width=s*100+"%";for(let o of n){let a=t.appendChild(document.createElement("i"));a.className="s-"+o.name,a.
style.width=o.ns/r*100+"%"}return t}var F=class extends k{log=!1;cols;constructor(s,e,t="lengths"){super(t,220,s,e);let n=s.grid,r=s.lengths;this.cols=r.step.map(
o=>{let a=this.colOf(o);return a<0?-1:a+(o-n.first[a]+.5)/(n.last[a]-n.first[a]+1)})}paint(s){let{ctx:e,area:t,color:n}=s,r=this.data.lengths,o=this.view,a=r.ns.
filter((g,b)=>this.cols[b]>=o.lo&&this.cols[b]<=o.hi),h=a.reduce((g,b)=>Math.max(g,b),1),l=M(a,.9),p=!this.log&&h>5*l&&l>0,u=p?l*1.5:h*1.1;rt("lengths",p?h:0);let d=a.
reduce((g,b)=>Math.min(g,Math.max(b,1)),h)/1.3,f=Math.log(u/d),c=g=>t.y+t.h*(1-(this.log?Math.log(Math.max(g,1)/d)/f:Math.min(g,u)/u));this.log?this.logAxis(s,d,
u,c):this.yAxis(s,u,x),e.save(),e.beginPath(),e.rect(t.x,0,t.w,t.y+t.h),e.clip();let m=a.length>1500?1.6:a.length>300?2.4:3.2,w=this.data.kinds.map(g=>n(q(g))),
v=n("mark");for(let g=0;g<r.ns.length;g++){if(this.cols[g]<o.lo||this.cols[g]>o.hi)continue;let b=this.x(this.cols[g],t),y=c(r.ns[g]);e.fillStyle=w[r.kind[g]],e.
beginPath(),p&&r.ns[g]>u?(e.moveTo(b-4,y+7),e.lineTo(b+4,y+7),e.lineTo(b,y)):e.arc(b,y,m,0,7),e.fill(),r.slow[g]&&(e.strokeStyle=v,e.beginPath(),e.arc(b,y,m+2.5,
0,7),e.stroke())}e.restore(),this.xAxis(s)}logAxis({ctx:s,area:e,color:t},n,r,o){s.textAlign="right",s.textBaseline="middle";for(let a=Math.floor(Math.log10(n));a<=
Math.log10(r);a++)for(let h of r/n>300?[1]:[1,2,5]){let l=h*Math.pow(10,a);l<n||l>r||(s.fillStyle=t("line"),s.fillRect(e.x,Math.round(o(l)),e.w,1),s.fillStyle=t(
"soft"),s.fillText(x(l),e.x-6,o(l)))}}tip(s){let e=this.data.lengths,t=[];for(let n=0;n<e.ns.length&&t.length<8;n++)Math.floor(this.cols[n])===s&&t.push([`step ${e.
step[n]}, ${this.data.kinds[e.kind[n]]}`,x(e.ns[n])+(e.slow[n]?" · slow":"")]);return{title:this.stepName(s),rows:t}}};function ot(i,s){if(document.getElementById(
"bars")){let e=new X(i,s),t=document.getElementById("bars-rank");i.ranks.length>1&&t.add(new Option("mean over ranks","-1")),i.ranks.forEach((o,a)=>t.add(new Option(
o,String(a)))),e.pick(Number(t.value)),t.addEventListener("change",()=>{e.pick(Number(t.value)),e.draw()});let n=document.getElementById("bars-share");n.addEventListener(
"change",()=>{e.share=n.checked,e.draw()});let r=i.grid.parts.filter(o=>o.ns.some(a=>a>0)).map(o=>T("--"+o.name,V(o.name)));document.getElementById("bars-keys")?.
replaceChildren(...r)}if(document.getElementById("lengths")){let e=new F(i,s),t=document.getElementById("lengths-log");e.log=t.checked=M(i.lengths.ns,1)>8*M(i.lengths.
ns,.5),t.addEventListener("change",()=>{e.log=t.checked,e.draw()})}for(let e of document.querySelectorAll(".kinds")){if(i.kinds.length<2)continue;let t=i.kinds.
map(n=>T("--"+q(n),n));i.grid.kind.includes(-1)&&t.push(T("--k4","several kinds in one column")),e.replaceChildren(...t)}}function H(i){return[parseInt(i.slice(1,3),16),parseInt(i.slice(3,5),16),parseInt(i.slice(5,7),16)]}function it(i,s){let e=Math.min(Math.max(s,0),1)*(i.length-1),
t=Math.min(Math.floor(e),i.length-2),n=e-t;return i[t].map((r,o)=>Math.round(r+(i[t+1][o]-r)*n))}function xt(i,s,e){let t=[],n=0;for(let r=0;r<s;r++){let o=[];for(let a=e>
2?1:0;a<e;a++)o.push(Math.abs(i[r*e+a]));for(let a of o)t.push(a);n=Math.max(n,M(o,.9))}return Math.max(n,M(t,.98))}var G=9,j=class extends k{constructor(e,t,n,r,o,a){
let h=t.ranks.length,l=Math.max(Math.min(Math.floor(240/h),24),4);super(e,h*l+34,t,n,Math.max(64,10+7.5*Math.max(...t.ranks.map(p=>Math.min(p.length,G)))));this.
what=r;this.scale=a;this.values=t.grid[r],this.both=r!=="wait",this.limit=Math.max(this.usual(),o,1),this.drawScale()}what;scale;values;both;limit;only=-1;usual(){
return xt(this.values,this.rows(),this.grid.cols)}rows(){return this.data.ranks.length}rowAt(e){let t=this.area();return Math.min(Math.max(Math.floor((e-t.y)/t.
h*this.rows()),0),this.rows()-1)}drawScale(){let e=this.scale;if(!e)return;let t=document.createElement("i");t.style.background=this.both?"linear-gradient(to ri\
ght, var(--under), var(--cold), var(--warm), var(--hot))":"linear-gradient(to right, var(--cold), var(--warm), var(--hot))";let n=this.values.reduce((p,u)=>Math.
max(p,u),0),r=this.values.reduce((p,u)=>Math.min(p,u),0),o=this.limit*1.0005,a=(this.both?"+":"")+x(this.limit),h=this.both?C(-this.limit):"0";e.replaceChildren(
r<-o?"≤ "+h:h,t,n>o?"≥ "+a:a);let l=[];n>o&&l.push("up to "+(this.both?C(n):x(n))),r<-o&&l.push("down to "+C(r)),l.length&&e.append("; cut: "+l.join(", "))}paint(e){
let{ctx:t,area:n,color:r}=e,o=this.grid,a=this.view,h=this.rows(),l=[H(r("cold")),H(r("warm")),H(r("hot"))],p=[H(r("cold")),H(r("under"))],u=r("panel"),d=n.h/h,
f=Math.max(Math.floor(a.lo),0),c=Math.min(Math.ceil(a.hi),o.cols),m=n.w/(a.hi-a.lo)>=5?1:0,w=d>=8?1:0;for(let v=0;v<h;v++)for(let g=f;g<c;g++){let b=v*o.cols+g,
y=Math.max(this.x(g,n),n.x),E=Math.min(this.x(g+1,n),n.x+n.w);if(o.parts[0].ns[b]<0)t.fillStyle=u;else{let A=this.values[b]/this.limit,[_,ft,gt]=A<0?it(p,-A):it(
l,A);t.fillStyle=`rgb(${_},${ft},${gt})`}t.fillRect(y,n.y+v*d,Math.max(E-y-m,.6),Math.max(d-w,1))}this.labels(e,d),this.xAxis(e),this.outline(e,d)}labels({ctx:e,
area:t,color:n},r){e.textAlign="right",e.textBaseline="middle";let o=Math.ceil(12/r),a=new Set(this.data.findings.flatMap(h=>h.kind==="straggler"?h.ranks:[]));this.
data.ranks.forEach((h,l)=>{if(l%o!==0&&!a.has(l)||l%o===0&&o>1&&[...a].some(u=>u!==l&&Math.abs(u-l)<o))return;e.fillStyle=n(a.has(l)?"text":"soft");let p=h.length>
G?h.slice(0,G-1)+"…":h;e.fillText(p,t.x-6,t.y+(l+.5)*r)})}outline({ctx:e,area:t,color:n},r){e.save(),e.beginPath(),e.rect(t.x-2,t.y-2,t.w+4,t.h+4),e.clip(),e.
strokeStyle=n("mark"),e.lineWidth=1.5;for(let[o,a]of this.data.findings.entries()){if(a.first<0||(this.only>=0?o!==this.only:a.kind!=="straggler")||this.only<0&&
(this.what==="work"&&a.cause==="host"||this.what==="host"&&a.cause!=="host"))continue;let h=this.colOf(a.first),l=this.colOf(a.last);if(h<0)continue;let p=this.
x(h,t),u=this.x((l<0?this.grid.cols-1:l)+1,t);for(let d of a.ranks)e.strokeRect(p-.5,t.y+d*r-.5,u-p,r)}e.restore()}mark({ctx:e,area:t,color:n}){let r=t.h/this.rows(),
o=this.view.col;o<0||o+1<this.view.lo||o>this.view.hi||(e.strokeStyle=n("mark"),e.globalAlpha=.45,e.strokeRect(this.x(o,t),t.y,Math.max(this.x(o+1,t)-this.x(o,t),
1),t.h),e.globalAlpha=1,e.lineWidth=2,e.strokeRect(this.x(o,t),t.y+this.view.row*r,Math.max(this.x(o+1,t)-this.x(o,t)-1,1),r-1),e.lineWidth=1)}tip(e,t){let n=this.
grid,r=t*n.cols+e,o=`${this.data.ranks[t]}, ${this.stepName(e)}`;if(n.parts[0].ns[r]<0)return{title:o,rows:[["this rank lacks the step",""]]};let a=n.parts[0].ns[r];
return{title:o,rows:[["own work",x(a)],["beyond the median rank",C(n.work[r])],["host gap beyond the median",C(n.host[r])],["waited",x(n.wait[r])],...n.batch[e]>=
0?[["batch",String(n.batch[e])]]:[],...n.tokens[e]>=0?[["tokens",String(n.tokens[e])]]:[]]}}};function vt(i,s){let{parts:e}=i.grid,t=e[0].ns.length;if(s==="work")
return M(e[0].ns,.5)*.1;let n=[];for(let r=0;r<t;r++)n.push(e.reduce((o,a)=>o+Math.max(a.ns[r],0),0));return M(n,.5)*.1}function at(i,s){if(document.getElementById(
"map-work"))for(let e of["work","host","wait"])new j("map-"+e,i,s,e,vt(i,e),document.getElementById("scale-"+e))}var yt={floor:"floor",start:"start",slow:"slow",other:"other kernels",idle:"idle"};function N(i,s,e){return i.map((t,n)=>({name:t,label:yt[t]??V(t),ns:s[n]/Math.
max(e,1)}))}function U(i){return i.reduce((s,e)=>s+e.ns,0)}function J(i,s){return`${i.label} ${x(i.ns)} (${S(i.ns/(s||1))})`}function L(i,s,...e){let t=document.
createElement(i);return t.append(s),t.classList.add(...e),t}function ht(i,s,e){let t=document.createElement("table"),n=t.createTHead().insertRow(),r=t.createTBody();
t.className="shares",t.createCaption().textContent=i,s.forEach((o,a)=>{let h=L("th",o,...a>1?["r"]:[]);h.setAttribute("scope","col"),n.append(h)});for(let[o,a,...h]of e){
let l=L("th",o),p=r.insertRow();l.setAttribute("scope","row"),p.append(l,L("td",a),...h.map(u=>L("td",u.replace(/(?<=≥) | (?=[nµm]?s\b|%)/g," "),"r")))}return t}
function kt({kind:i,why:s,bars:e}){let t=e.reduce((o,a)=>o+a.steps,0),n=e.reduce((o,a)=>o+a.told,0),r=t===0?`The kernels of ${i} steps cannot be assigned to mod\
ules`:`The kernels of ${t-n} of ${t} ${i} steps cannot be assigned to modules and count as other kernels`;return L("p",`${r}: ${s}.`,"caveat")}var lt=16;function Mt(i,s,e=""){
let t=s.bars.filter(d=>e===""||d.rank===e).map(d=>({rank:d.rank,steps:d.steps,parts:N(i.parts,d.parts,d.steps)})),n=s.why===""?[]:[kt(s)];if(t.length===0)return n;
let r=Math.max(...t.map(d=>U(d.parts)),1),o=t.reduce((d,f)=>d+f.steps,0),a=N(i.parts,i.parts.map((d,f)=>t.reduce((c,m)=>c+m.parts[f].ns*m.steps,0)),o),h=i.parts.
indexOf("wait"),l=t.map(d=>d.parts[h].ns).sort((d,f)=>d-f)[lt-1]??1/0,p=t.filter(d=>d.parts[h].ns<=l).slice(0,lt);n.push(ht(`Device time of a ${s.kind} step`,["\
rank",s.kind+" step","time","floor"],p.map(({rank:d,parts:f})=>{let c=U(f);return[d,Y(f,c/r,m=>J(m,c)),x(Math.round(c)),S(f[0].ns/(c||1))]})));let u=L("p",t.length>
1?"Mean: ":"","keys");return u.append(...a.filter(d=>d.ns>0).map(d=>T("--"+d.name,J(d,U(a))))),n.push(u),p.length<t.length&&n.push(L("p",`The ${p.length} of ${t.
length} ranks that wait least for others; the mean is that of all.`,"keys")),n}function Et(i,{rank:s,steps:e,modules:t},n=r=>r.module){let r=Math.max(...t.map(l=>l.
time_ns),1),o=t.map(l=>{let p=Math.min(l.floor_ns,l.time_ns),u=Math.min(Math.max(l.attainable_ns,p),l.time_ns),d=l.why!==""?N(["other"],[l.time_ns],e):N(["floor",
"start","slow"],[p,u-p,l.time_ns-u],e),f=Y(d,l.time_ns/r,c=>J(c,l.time_ns/e));return[n(l),f,x(Math.round(l.time_ns/e)),l.why===""?l.floor:"not known",l.of_attainable>
0?S(l.of_attainable):"–"]}),a=L("p","","keys");a.append(...N(["floor","start","slow"],[0,0,0],1).map(l=>T("--"+l.name,l.label)));let h=t.filter(l=>l.why!=="").
map(l=>`${l.module}: ${l.why}.`);return h.length>0&&a.append(T("--other","floor not known")),t.some(l=>l.floor.startsWith("≥"))&&h.push("≥: a lower bound, so \
the slow part may be smaller than drawn."),[ht(`Modules of a ${i} step on ${s}`,["module",i+" step","time","floor","of attainable"],o),a,...h.map(l=>L("p",l,"ke\
ys"))]}function ct({light:i}){let s=document.getElementById("light-steps"),e=document.getElementById("light-bars");if(!i||!s||(s.replaceChildren(...i.kinds.flatMap(
o=>Mt(i,o))),!e))return;let t=document.getElementById("light-of"),n=i.kinds.flatMap(({kind:o,rank:a,ranks:h})=>h.map(l=>({kind:o,of:l,first:l.rank===a})));n.forEach(
({kind:o,of:a},h)=>t.add(new Option(`${o}, ${a.rank}`,String(h)))),t.selectedIndex=Math.max(n.findIndex(({first:o})=>o),0);let r=()=>e.replaceChildren(...n.length>
0?Et(n[Number(t.value)].kind,n[Number(t.value)].of):[]);t.addEventListener("change",r),r()}var Q=class extends B{constructor(e){super("memory-plot",220,{left:68});this.series=e;this.canvas.addEventListener("pointermove",t=>this.point(this.nearest(t.offsetX),
t.offsetX,t.offsetY)),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.addEventListener(
"keydown",t=>{let n=this.series[this.index].at.length-1,r=t.shiftKey?10:1;if(t.key==="ArrowRight")this.point(Math.min(this.at+r,n));else if(t.key==="ArrowLeft")
this.point(Math.max(this.at-r,0));else if(t.key==="Home")this.point(0);else if(t.key==="End")this.point(n);else if(t.key==="Escape")this.point(-1);else return;t.
preventDefault()})}series;index=0;at=-1;x(e,t){let{at:n}=this.series[this.index],r=n[0]??0,o=n[n.length-1]??1;return e.x+(t-r)/Math.max(o-r,1)*e.w}nearest(e){let{
at:t}=this.series[this.index],n=this.area(),r=0,o=t.length-1;for(;r<o;){let a=r+o>>1;this.x(n,t[a])<e?r=a+1:o=a}return r>0&&e-this.x(n,t[r-1])<this.x(n,t[r])-e?
r-1:r}point(e,t,n){this.at=e,this.again();let r=this.series[this.index];if(e<0||e>=r.at.length)return I();z(this.canvas,t??this.x(this.area(),r.at[e]),n??20,{title:r.
label,rows:[["at",x(r.at[e])],["allocated",D(r.allocated[e])],["reserved",D(r.reserved[e])]]})}paint(e){let{ctx:t,area:n,color:r}=e,o=this.series[this.index];if(o.
at.length===0)return;let a=[o.allocated,o.reserved].flat().reduce((u,d)=>Math.max(u,d),1)*1.05;this.yAxis(e,a,D);let h=(u,d)=>{t.beginPath(),o.at.forEach((f,c)=>{
let m=this.x(n,f),w=n.y+n.h*(1-u[c]/a);c===0?t.moveTo(m,w):(t.lineTo(m,n.y+n.h*(1-u[c-1]/a)),t.lineTo(m,w))}),t.stroke(),d&&(t.lineTo(n.x+n.w,n.y+n.h),t.lineTo(
n.x,n.y+n.h),t.globalAlpha=.15,t.fill(),t.globalAlpha=1)};t.strokeStyle=r("soft"),t.setLineDash([5,4]),h(o.reserved,!1),t.setLineDash([]),t.strokeStyle=t.fillStyle=
r("compute"),t.lineWidth=1.5,h(o.allocated,!0),t.fillStyle=r("soft"),t.textAlign="center",t.textBaseline="top";let l=o.at[0],p=o.at[o.at.length-1];for(let u of P(
p-l,Math.max(n.w/110,2)))t.fillText(x(u),Math.min(this.x(n,l+u),n.x+n.w-16),n.y+n.h+5)}mark({ctx:e,area:t,color:n}){let{at:r}=this.series[this.index];this.at<0||
this.at>=r.length||(e.fillStyle=n("mark"),e.fillRect(this.x(t,r[this.at]),t.y,1,t.h))}};function dt(i){if(!document.getElementById("memory-plot"))return;let s=new Q(
i.memory),e=document.getElementById("memory-series");i.memory.forEach((t,n)=>e.add(new Option(t.label,String(n)))),e.addEventListener("change",()=>{s.index=Number(
e.value),s.at=-1,s.draw()})}function mt(i){let s=i.tBodies[0],e=[...s.rows],t=[...i.tHead?.rows[0].cells??[]],n=i.parentElement,r=e.length<=15,o="",a="",h=t.findIndex(f=>f.textContent==="k\
ind"),l=h<0?[]:[...new Set(e.map(f=>f.cells[h].textContent??""))],p=document.createElement("button");p.type="button",p.className="more";let u=document.createElement(
"span"),d=()=>{let f=0,c=0;for(let m of s.rows){let w=(o===""||(m.textContent??"").toLowerCase().includes(o))&&(a===""||m.cells[h].textContent===a);w&&f++,m.hidden=
!w||!r&&c>=12,m.hidden||c++}p.hidden=f<=12||e.length<=15,p.textContent=r?"Show the first 12 only":`Show all ${f}`,u.textContent=o===""?"":`${f} of ${e.length} r\
ows`};if(p.addEventListener("click",()=>{r=!r,d()}),i.addEventListener("reveal",()=>{r=!0,o=a="",i.parentElement?.previousElementSibling?.querySelectorAll("inpu\
t[type=search], select").forEach(f=>f.value=""),d()}),t.forEach((f,c)=>{if(!f.textContent)return;let m=document.createElement("button");m.type="button",m.textContent=
f.textContent,f.replaceChildren(m),m.addEventListener("click",()=>{let w=e.some(b=>b.cells[c].dataset.v!==void 0),v=f.ariaSort,g=v?v==="ascending":w;for(let b of t)
b.removeAttribute("aria-sort");f.ariaSort=g?"descending":"ascending",e.sort((b,y)=>{let E=b.cells[c],A=y.cells[c],_=w?Number(E.dataset.v??0)-Number(A.dataset.v??
0):(E.textContent??"").localeCompare(A.textContent??"");return g?-_:_}),s.append(...e),d()})}),e.length>8||i.dataset.names){let f=document.createElement("div");
if(f.className="tabletools",l.length>1&&e.length>8){let c=document.createElement("label"),m=document.createElement("select");m.add(new Option("every kind",""));
for(let w of l)m.add(new Option(w==="all"?"all together":w,w));l.includes("all")&&(a=m.value="all"),m.addEventListener("change",()=>{a=m.value,d()}),c.append("S\
teps of kind ",m),f.append(c)}if(e.length>8){let c=document.createElement("label"),m=document.createElement("input");m.type="search",m.addEventListener("input",
()=>{o=m.value.trim().toLowerCase(),d()}),c.append("Filter ",m),f.append(c,u),u.setAttribute("role","status")}if(i.dataset.names){let c=document.createElement("\
label"),m=document.createElement("input");m.type="checkbox",m.addEventListener("change",()=>i.classList.toggle("names",m.checked)),c.append(m," full names"),f.append(
c)}n.before(f)}n.after(p),d()}var ut=document.documentElement,W=i=>{if(ut.dataset.error)return;ut.dataset.error=String(i);let s=document.createElement("p");s.className="caveat error",s.textContent=
"An error in this page: some plots are missing: "+i,document.querySelector("header")?.append(s)};addEventListener("error",i=>W(i.message));addEventListener("unh\
andledrejection",i=>W(i.reason));var R=JSON.parse(document.getElementById("data")?.textContent??"{}"),Z=new O(R.grid.cols);for(let i of[()=>at(R,Z),()=>ot(R,Z),
()=>dt(R),()=>ct(R),()=>document.querySelectorAll("main .scroll table").forEach(s=>mt(s))])try{i()}catch(s){W(s)}for(let i of document.querySelectorAll("a[data-\
step]"))i.addEventListener("click",()=>{let s=document.querySelector(`${i.getAttribute("href")} canvas`),e=$.find(n=>n instanceof k&&(!s||n.canvas===s));if(!(e instanceof
k))return;let t=e.colOf(Number(i.dataset.step));if(!s)return Z.point(t);e.canvas.focus({preventScroll:!0}),e.point(t,Number(i.dataset.rank??0))});var pt=()=>{let i=location.
hash&&document.getElementById(location.hash.slice(1));!(i instanceof HTMLTableRowElement)||!i.hidden||(i.closest("table")?.dispatchEvent(new Event("reveal")),i.
scrollIntoView({block:"center"}))};addEventListener("hashchange",pt);for(let i of document.querySelectorAll(".command")){let s=document.createElement("button");
s.type="button",s.className="copy",s.textContent="copy",s.setAttribute("aria-label","copy "+i.textContent),s.addEventListener("click",async()=>{getSelection()?.
selectAllChildren(i),await navigator.clipboard?.writeText(i.textContent??"").then(()=>s.textContent="copied",()=>{})}),i.after(" ",s)}var Lt=()=>{for(let i of $)
try{i.draw()}catch(s){W(s)}};nt(Lt);pt();})();
