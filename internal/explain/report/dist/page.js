"use strict";(()=>{function K(r){let[i,t]=r.split("."),e=i.replace(/\B(?=(\d{3})+$)/g,",");return t===void 0?e:e+"."+t}function q(r){if(r===0)return"0";let i=Math.floor(Math.log10(
Math.abs(r)));return Math.abs(r)>=Math.pow(10,i+1)*(1-5e-4)&&i++,K(r.toFixed(Math.min(Math.max(2-i,0),20)))}function j(r,i){let t=i[i.length-1];if(r===0)return"\
0 "+t[1];for(let[e,n]of i)if(Math.abs(r)/e>=.9995)return(e===1&&Number.isInteger(r)?K(String(r)):q(r/e))+" "+n;return q(r)+" "+t[1]}function v(r){return j(r,[[1e9,
"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function I(r){return j(r,[[1e12,"TB"],[1e9,"GB"],[1e6,"MB"],[1e3,"kB"],[1,"B"]])}function V(r){return q(r*100)+" %"}function A(r){return(r>0?"+":"")+v(r)}function L(r,i){
if(!(r>0))return[0];let t=r/i,e=Math.pow(10,Math.floor(Math.log10(t))),n=[1,2,5,10].find(o=>o*e>=t*.999)||10,s=[];for(let o=0;o<=r*1.0001;o+=n*e)s.push(o);return s}function ht(){let{theme:r}=document.documentElement.dataset;return r==="dark"||r!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function ct(){let r=getComputedStyle(
document.documentElement),i=ht()?2:1;return t=>/light-dark\(\s*([^,]+?)\s*,\s*([^)]+?)\s*\)/.exec(r.getPropertyValue("--"+t))?.[i]??"#888888"}var T=[];function U(r){
let i=document.documentElement;matchMedia("(prefers-color-scheme: dark)").addEventListener("change",r),addEventListener("beforeprint",()=>{i.dataset.theme="ligh\
t",i.dataset.print="1",document.querySelectorAll("details").forEach(t=>t.open=!0),r()}),addEventListener("afterprint",()=>{delete i.dataset.theme,delete i.dataset.
print,r()}),r(),i.dataset.ready="1"}var C=class{constructor(i,t,e={}){this.height=t;this.canvas=typeof i=="string"?document.getElementById(i):i,this.left=e.left??
58,this.bottom=e.bottom??22,this.canvas.style.height=t+"px",T.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.
width||this.draw())),this.sizes.observe(this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),T.splice(T.indexOf(this),
1)}area(){return{x:this.left,y:6,w:Math.max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let i=this.canvas.clientWidth,t=window.devicePixelRatio||
1;if(i===0)return;this.width=i,this.canvas.width=Math.round(i*t),this.canvas.height=Math.round(this.height*t);let e=this.pen();e&&(this.paint(e),this.ground??=document.
createElement("canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.
mark(e),this.canvas.dataset.drawn="1")}again(){let i=this.pen();if(!i||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();i.ctx.setTransform(
1,0,0,1,0,0),i.ctx.clearRect(0,0,this.canvas.width,this.canvas.height),i.ctx.drawImage(this.ground,0,0),this.mark({...i,ctx:this.sharp(i.ctx)})}sharp(i){let t=window.
devicePixelRatio||1;return i.setTransform(t,0,0,t,0,0),i}pen(){let i=this.canvas.getContext("2d");return i?(this.sharp(i).font="11px system-ui, sans-serif",{ctx:i,
area:this.area(),color:ct()}):null}paint(i){}mark(i){}yAxis({ctx:i,area:t,color:e},n,s){i.textAlign="right",i.textBaseline="middle";for(let o of L(n,Math.max(t.
h/45,2))){let a=t.y+t.h*(1-o/n);i.fillStyle=e("line"),i.fillRect(t.x,Math.round(a),t.w,1),i.fillStyle=e("soft"),i.fillText(s(o),t.x-6,a)}}};function J(){let r=document.
getElementById("tip");if(r)return r;let i=document.createElement("div");return i.id="tip",i.setAttribute("role","status"),document.body.appendChild(i)}function D(r,i,t,e){
let n=J(),s=document.createElement("dl");for(let[w,p]of e.rows){let c=document.createElement("dt"),d=document.createElement("dd");c.textContent=w,d.textContent=
p,s.append(c,d)}let o=document.createElement("strong");o.textContent=e.title,n.replaceChildren(o,s),n.hidden=!1;let a=r.getBoundingClientRect(),h=n.getBoundingClientRect(),
l=document.documentElement.clientWidth,u=a.left+i+14;u+h.width>l-8&&(u=Math.max(a.left+i-14-h.width,4));let m=a.top+t+14;m+h.height>window.innerHeight-4&&(m=Math.
max(a.top+t-14-h.height,4)),n.style.left=u+window.scrollX+"px",n.style.top=m+window.scrollY+"px"}function P(){J().hidden=!0}var H=class{constructor(i,t=4){this.
cols=i;this.least=t;this.hi=Math.max(i,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(i){this.moved||=i,!this.pending&&
(this.pending=requestAnimationFrame(()=>{let t=this.moved;this.pending=0,this.moved=!1;for(let e of this.plots)t?e.draw():e.again();t&&this.whenMoved()}))}zoom(i,t){
let e=Math.min(Math.max(t-i,this.least),this.cols),n=(i+t)/2;this.lo=Math.min(Math.max(n-e/2,0),this.cols-e),this.hi=this.lo+e,this.changed(!0)}point(i){this.col=
i<0?-1:Math.min(i,this.cols-1);let t=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-t/2,this.col+.5+t/2),this.changed(
!1)}};function N(r,i){let t=document.createElement("span"),e=document.createElement("i");return t.className="key",e.style.background=`var(${r})`,t.append(e,i),t}function $(r){let i=["decode","prefill","mixed","other","idle"].indexOf(r);return"k"+(i<0?3:i)}function k(r,i){let t=r.filter(e=>e>0).sort((e,n)=>e-n);return t.
length?t[Math.floor(i*(t.length-1))]:0}var M=class extends C{constructor(t,e,n,s,o,a=28){super(t,e,{left:o,bottom:a});this.data=n;this.view=s;this.grid=n.grid,s.
plots.push(this),this.listen()}data;view;grid;x(t,e){return e.x+(t-this.view.lo)/(this.view.hi-this.view.lo)*e.w}colAt(t){let e=this.area();return this.view.lo+
(t-e.x)/e.w*(this.view.hi-this.view.lo)}colOf(t){let{first:e,last:n}=this.grid,s=0,o=e.length-1;for(;s<o;){let a=s+o+1>>1;e[a]<=t?s=a:o=a-1}return e.length&&e[s]<=
t&&t<=n[s]?s:-1}stepName(t){let e=this.grid,n=e.kind[t]<0?"several kinds":this.data.kinds[e.kind[t]];return(e.first[t]===e.last[t]?"step "+e.first[t]:`steps ${e.
first[t]}–${e.last[t]}`)+", "+n}xAxis({ctx:t,area:e,color:n}){let s=this.grid,o=this.view,a=e.y+e.h,h=Math.max(Math.floor(o.lo),0),l=Math.min(Math.ceil(o.hi),
s.cols);if(this.data.kinds.length>1)for(let c=h;c<l;c++){let d=Math.max(this.x(c,e),e.x),b=Math.min(this.x(c+1,e),e.x+e.w);t.fillStyle=n(s.kind[c]<0?"k4":$(this.
data.kinds[s.kind[c]])),t.fillRect(d,a+3,Math.max(b-d-(b-d>3?1:0),.5),4)}t.textAlign="center",t.textBaseline="top",t.fillStyle=n("soft");let u=(l-h)*s.bucket,m=L(
u,Math.max(e.w/70,2)),w=Math.max(Math.round(m.length>1?m[1]:1),1),p=-1/0;for(let c=h;c<l;c++){let d=Math.ceil(s.first[c]/w)*w,b=this.x(c+(s.bucket===1?.5:(d-s.first[c])/
s.bucket),e);d>s.last[c]||b-p<30||b<e.x||b>e.x+e.w||(t.fillText(String(d),b,a+10),p=b)}}mark({ctx:t,area:e,color:n}){let s=this.view.col;if(s<this.view.lo-1||s>
this.view.hi)return;let o=Math.max(this.x(s,e),e.x),a=Math.min(this.x(s+1,e),e.x+e.w);s<0||a<=o||(t.strokeStyle=n("mark"),t.globalAlpha=.7,t.strokeRect(o+.5,e.y+
.5,Math.max(a-o-1,1),e.h-1),t.globalAlpha=1)}tip(t,e){return null}tipAt(t,e){return null}rowAt(t){return 0}rows(){return 1}point(t,e,n,s){this.rows()>1&&(this.view.
row=e),this.view.point(t);let o=n!==void 0&&s!==void 0&&this.tipAt(n,s)||this.tip(this.view.col,e),a=this.area();if(!o)return P();D(this.canvas,n??this.x(this.view.
col+.5,a),s??a.y+a.h*(e+.5)/this.rows(),o)}onpick=null;listen(){let t=this.canvas,e=this.view,n=NaN;t.addEventListener("pointerdown",s=>{n=s.offsetX}),t.addEventListener(
"pointermove",s=>{let o=Math.floor(this.colAt(s.offsetX));if(o<0||o>=this.grid.cols||s.offsetX<this.left)return this.leave();this.point(o,this.rowAt(s.offsetY),
s.offsetX,s.offsetY)}),t.addEventListener("pointerup",s=>{if(Math.abs(s.offsetX-n)>8){let o=this.colAt(n),a=this.colAt(s.offsetX);e.zoom(Math.min(o,a),Math.max(
o,a))}else e.col>=0&&this.onpick?.(e.col,this.rowAt(s.offsetY));n=NaN}),t.addEventListener("pointerleave",()=>this.leave()),t.addEventListener("blur",()=>this.leave()),
t.addEventListener("dblclick",()=>e.zoom(0,e.cols)),t.addEventListener("keydown",s=>{this.key(s.key,s.shiftKey)&&s.preventDefault()})}leave(){P(),this.view.point(
-1)}key(t,e){let n=this.view,s=n.col<0?Math.floor(n.lo):n.col,o=n.col<0?(n.lo+n.hi)/2:n.col+.5,a=(n.hi-n.lo)/2,h=e?10:1,l=this.rows()>1?n.row:0;switch(t){case"A\
rrowLeft":return this.point(Math.max(s-h,0),l),!0;case"ArrowRight":return this.point(Math.min(n.col<0?s:s+h,n.cols-1),l),!0;case"ArrowUp":case"ArrowDown":return this.
rows()<2?!1:(this.point(s,Math.min(Math.max(n.row+(t==="ArrowUp"?-h:h),0),this.rows()-1)),!0);case"Home":return this.point(0,l),!0;case"End":return this.point(n.
cols-1,l),!0;case"+":case"=":return n.zoom(o-a/2,o+a/2),!0;case"-":return n.zoom(o-a*2,o+a*2),!0;case"Enter":return!this.onpick||n.col<0?!1:(this.onpick(n.col,l),
!0);case"Escape":return this.leave(),n.zoom(0,n.cols),!0}return!1}};var W=class extends M{rank=-1;share=!1;values=[];constructor(i,t,e="bars"){super(e,240,i,t),this.pick(-1)}pick(i){let t=this.grid,e=this.data.ranks.length;this.
rank=i,this.values=t.parts.map(({ns:n})=>{if(i>=0)return n.slice(i*t.cols,(i+1)*t.cols);let s=new Array(t.cols).fill(-1);for(let o=0;o<t.cols;o++){let a=0,h=0;for(let l=0;l<
e;l++){let u=n[l*t.cols+o];u>=0&&(a+=u,h++)}h&&(s[o]=a/h)}return s})}total(i){return this.values.reduce((t,e)=>t+Math.max(e[i],0),0)}paint(i){let{ctx:t,area:e,color:n}=i,
s=this.view,o=Math.max(Math.floor(s.lo),0),a=Math.min(Math.ceil(s.hi),this.grid.cols),h=[];for(let c=o;c<a;c++)h.push(this.total(c));let l=Math.max(...h,1),u=k(
h,.9),m=this.share?1:l>3*u&&u>0?u*1.3:l*1.05;this.yAxis(i,m,this.share?V:v),Q("bars",!this.share&&l>m?l:0);let w=this.grid.parts.map(c=>n(c.name)),p=e.w/(s.hi-s.
lo)>=5?1:0;for(let c=o;c<a;c++){let d=Math.max(this.x(c,e),e.x),b=Math.min(this.x(c+1,e),e.x+e.w),x=h[c-o],f=0;for(let g=0;g<this.values.length;g++){let y=Math.
max(this.values[g][c],0)/(this.share&&x||1),E=Math.min(f+y,m);E>f&&(t.fillStyle=w[g],t.fillRect(d,e.y+e.h*(1-E/m),Math.max(b-d-p,.6),e.h*(E-f)/m)),f=E}if(!this.
share&&x>m){let g=(d+b-p)/2;t.fillStyle=n("mark"),t.beginPath(),t.moveTo(g-4,e.y+7),t.lineTo(g+4,e.y+7),t.lineTo(g,e.y+1),t.fill()}}this.xAxis(i)}tip(i){let t=this.
rank<0?"mean over ranks":this.data.ranks[this.rank],e=this.total(i),n=[["total",v(Math.round(e))]];return this.grid.parts.forEach((s,o)=>{let a=Math.max(this.values[o][i],
0);a>0&&n.push([Z(s.name),`${v(Math.round(a))} · ${V(a/(e||1))}`])}),{title:`${this.stepName(i)}, ${t}`,rows:n}}};function Q(r,i){let t=document.getElementById(
"cut-"+r),e=i?`▼ cut: up to ${v(Math.round(i))}`:"";t&&t.textContent!==e&&(t.textContent=e)}function Z(r){return["compute","transfer","wait","unrecorded","cop\
y"].includes(r)?r:"idle: "+r}var X=class extends M{log=!1;cols;constructor(i,t,e="lengths"){super(e,220,i,t);let n=i.grid,s=i.lengths;this.cols=s.step.map(o=>{let a=this.
colOf(o);return a<0?-1:a+(o-n.first[a]+.5)/(n.last[a]-n.first[a]+1)})}paint(i){let{ctx:t,area:e,color:n}=i,s=this.data.lengths,o=this.view,a=s.ns.filter((f,g)=>this.
cols[g]>=o.lo&&this.cols[g]<=o.hi),h=a.reduce((f,g)=>Math.max(f,g),1),l=k(a,.9),u=!this.log&&h>5*l&&l>0,m=u?l*1.5:h*1.1;Q("lengths",u?h:0);let w=a.reduce((f,g)=>Math.
min(f,Math.max(g,1)),h)/1.3,p=Math.log(m/w),c=f=>e.y+e.h*(1-(this.log?Math.log(Math.max(f,1)/w)/p:Math.min(f,m)/m));this.log?this.logAxis(i,w,m,c):this.yAxis(i,
m,v),t.save(),t.beginPath(),t.rect(e.x,0,e.w,e.y+e.h),t.clip();let d=a.length>1500?1.6:a.length>300?2.4:3.2,b=this.data.kinds.map(f=>n($(f))),x=n("mark");for(let f=0;f<
s.ns.length;f++){if(this.cols[f]<o.lo||this.cols[f]>o.hi)continue;let g=this.x(this.cols[f],e),y=c(s.ns[f]);t.fillStyle=b[s.kind[f]],t.beginPath(),u&&s.ns[f]>m?
(t.moveTo(g-4,y+7),t.lineTo(g+4,y+7),t.lineTo(g,y)):t.arc(g,y,d,0,7),t.fill(),s.slow[f]&&(t.strokeStyle=x,t.beginPath(),t.arc(g,y,d+2.5,0,7),t.stroke())}t.restore(),
this.xAxis(i)}logAxis({ctx:i,area:t,color:e},n,s,o){i.textAlign="right",i.textBaseline="middle";for(let a=Math.floor(Math.log10(n));a<=Math.log10(s);a++)for(let h of s/
n>300?[1]:[1,2,5]){let l=h*Math.pow(10,a);l<n||l>s||(i.fillStyle=e("line"),i.fillRect(t.x,Math.round(o(l)),t.w,1),i.fillStyle=e("soft"),i.fillText(v(l),t.x-6,o(
l)))}}tip(i){let t=this.data.lengths,e=[];for(let n=0;n<t.ns.length&&e.length<8;n++)Math.floor(this.cols[n])===i&&e.push([`step ${t.step[n]}, ${this.data.kinds[t.
kind[n]]}`,v(t.ns[n])+(t.slow[n]?" · slow":"")]);return{title:this.stepName(i),rows:e}}};function tt(r,i){if(document.getElementById("bars")){let t=new W(r,i),
e=document.getElementById("bars-rank");r.ranks.length>1&&e.add(new Option("mean over ranks","-1")),r.ranks.forEach((o,a)=>e.add(new Option(o,String(a)))),t.pick(
Number(e.value)),e.addEventListener("change",()=>{t.pick(Number(e.value)),t.draw()});let n=document.getElementById("bars-share");n.addEventListener("change",()=>{
t.share=n.checked,t.draw()});let s=r.grid.parts.filter(o=>o.ns.some(a=>a>0)).map(o=>N("--"+o.name,Z(o.name)));document.getElementById("bars-keys")?.replaceChildren(
...s)}if(document.getElementById("lengths")){let t=new X(r,i),e=document.getElementById("lengths-log");t.log=e.checked=k(r.lengths.ns,1)>8*k(r.lengths.ns,.5),e.
addEventListener("change",()=>{t.log=e.checked,t.draw()})}for(let t of document.querySelectorAll(".kinds")){if(r.kinds.length<2)continue;let e=r.kinds.map(n=>N(
"--"+$(n),n));r.grid.kind.includes(-1)&&e.push(N("--k4","several kinds in one column")),t.replaceChildren(...e)}}function B(r){return[parseInt(r.slice(1,3),16),parseInt(r.slice(3,5),16),parseInt(r.slice(5,7),16)]}function et(r,i){let t=Math.min(Math.max(i,0),1)*(r.length-1),
e=Math.min(Math.floor(t),r.length-2),n=t-e;return r[e].map((s,o)=>Math.round(s+(r[e+1][o]-s)*n))}function dt(r,i,t){let e=[],n=0;for(let s=0;s<i;s++){let o=[];for(let a=t>
2?1:0;a<t;a++)o.push(Math.abs(r[s*t+a]));for(let a of o)e.push(a);n=Math.max(n,k(o,.9))}return Math.max(n,k(e,.98))}var _=9,F=class extends M{constructor(t,e,n,s,o,a){
let h=e.ranks.length,l=Math.max(Math.min(Math.floor(240/h),24),4);super(t,h*l+34,e,n,Math.max(64,10+7.5*Math.max(...e.ranks.map(u=>Math.min(u.length,_)))));this.
what=s;this.scale=a;this.values=e.grid[s],this.both=s!=="wait",this.limit=Math.max(this.usual(),o,1),this.drawScale()}what;scale;values;both;limit;usual(){return dt(
this.values,this.rows(),this.grid.cols)}rows(){return this.data.ranks.length}rowAt(t){let e=this.area();return Math.min(Math.max(Math.floor((t-e.y)/e.h*this.rows()),
0),this.rows()-1)}drawScale(){let t=this.scale;if(!t)return;let e=document.createElement("i");e.style.background=this.both?"linear-gradient(to right, var(--unde\
r), var(--cold), var(--warm), var(--hot))":"linear-gradient(to right, var(--cold), var(--warm), var(--hot))";let n=this.values.reduce((u,m)=>Math.max(u,m),0),s=this.
values.reduce((u,m)=>Math.min(u,m),0),o=this.limit*1.0005,a=(this.both?"+":"")+v(this.limit),h=this.both?A(-this.limit):"0";t.replaceChildren(s<-o?"≤ "+h:h,e,
n>o?"≥ "+a:a);let l=[];n>o&&l.push("up to "+(this.both?A(n):v(n))),s<-o&&l.push("down to "+A(s)),l.length&&t.append("; cut: "+l.join(", "))}paint(t){let{ctx:e,
area:n,color:s}=t,o=this.grid,a=this.view,h=this.rows(),l=[B(s("cold")),B(s("warm")),B(s("hot"))],u=[B(s("cold")),B(s("under"))],m=s("panel"),w=n.h/h,p=Math.max(
Math.floor(a.lo),0),c=Math.min(Math.ceil(a.hi),o.cols),d=n.w/(a.hi-a.lo)>=5?1:0,b=w>=8?1:0;for(let x=0;x<h;x++)for(let f=p;f<c;f++){let g=x*o.cols+f,y=Math.max(
this.x(f,n),n.x),E=Math.min(this.x(f+1,n),n.x+n.w);if(o.parts[0].ns[g]<0)e.fillStyle=m;else{let S=this.values[g]/this.limit,[R,at,lt]=S<0?et(u,-S):et(l,S);e.fillStyle=
`rgb(${R},${at},${lt})`}e.fillRect(y,n.y+x*w,Math.max(E-y-d,.6),Math.max(w-b,1))}this.labels(t,w),this.xAxis(t),this.outline(t,w)}labels({ctx:t,area:e,color:n},s){
t.textAlign="right",t.textBaseline="middle";let o=Math.ceil(12/s),a=new Set(this.data.findings.flatMap(h=>h.kind==="straggler"?h.ranks:[]));this.data.ranks.forEach(
(h,l)=>{if(l%o!==0&&!a.has(l)||l%o===0&&o>1&&[...a].some(m=>m!==l&&Math.abs(m-l)<o))return;t.fillStyle=n(a.has(l)?"text":"soft");let u=h.length>_?h.slice(0,_-1)+
"…":h;t.fillText(u,e.x-6,e.y+(l+.5)*s)})}outline({ctx:t,area:e,color:n},s){t.save(),t.beginPath(),t.rect(e.x-2,e.y-2,e.w+4,e.h+4),t.clip(),t.strokeStyle=n("ma\
rk"),t.lineWidth=1.5;for(let o of this.data.findings){if(o.kind!=="straggler"||o.first<0||this.what==="work"&&o.cause==="host"||this.what==="host"&&o.cause!=="h\
ost")continue;let a=this.colOf(o.first),h=this.colOf(o.last);if(a<0)continue;let l=this.x(a,e),u=this.x((h<0?this.grid.cols-1:h)+1,e);for(let m of o.ranks)t.strokeRect(
l-.5,e.y+m*s-.5,u-l,s)}t.restore()}mark({ctx:t,area:e,color:n}){let s=e.h/this.rows(),o=this.view.col;o<0||o+1<this.view.lo||o>this.view.hi||(t.strokeStyle=n("m\
ark"),t.globalAlpha=.45,t.strokeRect(this.x(o,e),e.y,Math.max(this.x(o+1,e)-this.x(o,e),1),e.h),t.globalAlpha=1,t.lineWidth=2,t.strokeRect(this.x(o,e),e.y+this.
view.row*s,Math.max(this.x(o+1,e)-this.x(o,e)-1,1),s-1),t.lineWidth=1)}tip(t,e){let n=this.grid,s=e*n.cols+t,o=`${this.data.ranks[e]}, ${this.stepName(t)}`;if(n.
parts[0].ns[s]<0)return{title:o,rows:[["this rank lacks the step",""]]};let a=n.parts[0].ns[s];return{title:o,rows:[["own work",v(a)],["beyond the median rank",
A(n.work[s])],["host gap beyond the median",A(n.host[s])],["waited",v(n.wait[s])],...n.batch[t]>=0?[["batch",String(n.batch[t])]]:[],...n.tokens[t]>=0?[["tokens",
String(n.tokens[t])]]:[]]}}};function mt(r,i){let{parts:t}=r.grid,e=t[0].ns.length;if(i==="work")return k(t[0].ns,.5)*.1;let n=[];for(let s=0;s<e;s++)n.push(t.reduce(
(o,a)=>o+Math.max(a.ns[s],0),0));return k(n,.5)*.1}function nt(r,i){if(document.getElementById("map-work"))for(let t of["work","host","wait"])new F("map-"+t,r,i,
t,mt(r,t),document.getElementById("scale-"+t))}var Y=class extends C{constructor(t){super("memory-plot",220,{left:68});this.series=t;this.canvas.addEventListener("pointermove",e=>this.point(this.nearest(e.offsetX),
e.offsetX,e.offsetY)),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.addEventListener(
"keydown",e=>{let n=this.series[this.index].at.length-1,s=e.shiftKey?10:1;if(e.key==="ArrowRight")this.point(Math.min(this.at+s,n));else if(e.key==="ArrowLeft")
this.point(Math.max(this.at-s,0));else if(e.key==="Home")this.point(0);else if(e.key==="End")this.point(n);else if(e.key==="Escape")this.point(-1);else return;e.
preventDefault()})}series;index=0;at=-1;x(t,e){let{at:n}=this.series[this.index],s=n[0]??0,o=n[n.length-1]??1;return t.x+(e-s)/Math.max(o-s,1)*t.w}nearest(t){let{
at:e}=this.series[this.index],n=this.area(),s=0,o=e.length-1;for(;s<o;){let a=s+o>>1;this.x(n,e[a])<t?s=a+1:o=a}return s>0&&t-this.x(n,e[s-1])<this.x(n,e[s])-t?
s-1:s}point(t,e,n){this.at=t,this.again();let s=this.series[this.index];if(t<0||t>=s.at.length)return P();D(this.canvas,e??this.x(this.area(),s.at[t]),n??20,{title:s.
label,rows:[["at",v(s.at[t])],["allocated",I(s.allocated[t])],["reserved",I(s.reserved[t])]]})}paint(t){let{ctx:e,area:n,color:s}=t,o=this.series[this.index];if(o.
at.length===0)return;let a=[o.allocated,o.reserved].flat().reduce((m,w)=>Math.max(m,w),1)*1.05;this.yAxis(t,a,I);let h=(m,w)=>{e.beginPath(),o.at.forEach((p,c)=>{
let d=this.x(n,p),b=n.y+n.h*(1-m[c]/a);c===0?e.moveTo(d,b):(e.lineTo(d,n.y+n.h*(1-m[c-1]/a)),e.lineTo(d,b))}),e.stroke(),w&&(e.lineTo(n.x+n.w,n.y+n.h),e.lineTo(
n.x,n.y+n.h),e.globalAlpha=.15,e.fill(),e.globalAlpha=1)};e.strokeStyle=s("soft"),e.setLineDash([5,4]),h(o.reserved,!1),e.setLineDash([]),e.strokeStyle=e.fillStyle=
s("compute"),e.lineWidth=1.5,h(o.allocated,!0),e.fillStyle=s("soft"),e.textAlign="center",e.textBaseline="top";let l=o.at[0],u=o.at[o.at.length-1];for(let m of L(
u-l,Math.max(n.w/110,2)))e.fillText(v(m),Math.min(this.x(n,l+m),n.x+n.w-16),n.y+n.h+5)}mark({ctx:t,area:e,color:n}){let{at:s}=this.series[this.index];this.at<0||
this.at>=s.length||(t.fillStyle=n("mark"),t.fillRect(this.x(e,s[this.at]),e.y,1,e.h))}};function st(r){if(!document.getElementById("memory-plot"))return;let i=new Y(
r.memory),t=document.getElementById("memory-series");r.memory.forEach((e,n)=>t.add(new Option(e.label,String(n)))),t.addEventListener("change",()=>{i.index=Number(
t.value),i.at=-1,i.draw()})}function it(r){let i=r.tBodies[0],t=[...i.rows],e=[...r.tHead?.rows[0].cells??[]],n=r.parentElement,s=t.length<=15,o="",a="",h=e.findIndex(p=>p.textContent==="k\
ind"),l=h<0?[]:[...new Set(t.map(p=>p.cells[h].textContent??""))],u=document.createElement("button");u.type="button",u.className="more";let m=document.createElement(
"span"),w=()=>{let p=0,c=0;for(let d of i.rows){let b=(o===""||(d.textContent??"").toLowerCase().includes(o))&&(a===""||d.cells[h].textContent===a);b&&p++,d.hidden=
!b||!s&&c>=12,d.hidden||c++}u.hidden=p<=12||t.length<=15,u.textContent=s?"Show the first 12 only":`Show all ${p}`,m.textContent=o===""?"":`${p} of ${t.length} r\
ows`};if(u.addEventListener("click",()=>{s=!s,w()}),r.addEventListener("reveal",()=>{s=!0,o=a="",r.parentElement?.previousElementSibling?.querySelectorAll("inpu\
t[type=search], select").forEach(p=>p.value=""),w()}),e.forEach((p,c)=>{if(!p.textContent)return;let d=document.createElement("button");d.type="button",d.textContent=
p.textContent,p.replaceChildren(d),d.addEventListener("click",()=>{let b=t.some(g=>g.cells[c].dataset.v!==void 0),x=p.ariaSort,f=x?x==="ascending":b;for(let g of e)
g.removeAttribute("aria-sort");p.ariaSort=f?"descending":"ascending",t.sort((g,y)=>{let E=g.cells[c],S=y.cells[c],R=b?Number(E.dataset.v??0)-Number(S.dataset.v??
0):(E.textContent??"").localeCompare(S.textContent??"");return f?-R:R}),i.append(...t),w()})}),t.length>8||r.dataset.names){let p=document.createElement("div");
if(p.className="tabletools",l.length>1&&t.length>8){let c=document.createElement("label"),d=document.createElement("select");d.add(new Option("every kind",""));
for(let b of l)d.add(new Option(b==="all"?"all together":b,b));l.includes("all")&&(a=d.value="all"),d.addEventListener("change",()=>{a=d.value,w()}),c.append("S\
teps of kind ",d),p.append(c)}if(t.length>8){let c=document.createElement("label"),d=document.createElement("input");d.type="search",d.addEventListener("input",
()=>{o=d.value.trim().toLowerCase(),w()}),c.append("Filter ",d),p.append(c,m),m.setAttribute("role","status")}if(r.dataset.names){let c=document.createElement("\
label"),d=document.createElement("input");d.type="checkbox",d.addEventListener("change",()=>r.classList.toggle("names",d.checked)),c.append(d," full names"),p.append(
c)}n.before(p)}n.after(u),w()}var ot=document.documentElement,O=r=>{if(ot.dataset.error)return;ot.dataset.error=String(r);let i=document.createElement("p");i.className="caveat error",i.textContent=
"An error in this page: some plots are missing: "+r,document.querySelector("header")?.append(i)};addEventListener("error",r=>O(r.message));addEventListener("unh\
andledrejection",r=>O(r.reason));var z=JSON.parse(document.getElementById("data")?.textContent??"{}"),G=new H(z.grid.cols);for(let r of[()=>nt(z,G),()=>tt(z,G),
()=>st(z),()=>document.querySelectorAll("main .scroll table").forEach(i=>it(i))])try{r()}catch(i){O(i)}for(let r of document.querySelectorAll("a[data-step]"))r.
addEventListener("click",()=>{let i=document.querySelector(`${r.getAttribute("href")} canvas`),t=T.find(n=>n instanceof M&&(!i||n.canvas===i));if(!(t instanceof
M))return;let e=t.colOf(Number(r.dataset.step));if(!i)return G.point(e);t.canvas.focus({preventScroll:!0}),t.point(e,Number(r.dataset.rank??0))});var rt=()=>{let r=location.
hash&&document.getElementById(location.hash.slice(1));!(r instanceof HTMLTableRowElement)||!r.hidden||(r.closest("table")?.dispatchEvent(new Event("reveal")),r.
scrollIntoView({block:"center"}))};addEventListener("hashchange",rt);for(let r of document.querySelectorAll(".command")){let i=document.createElement("button");
i.type="button",i.className="copy",i.textContent="copy",i.setAttribute("aria-label","copy "+r.textContent),i.addEventListener("click",async()=>{getSelection()?.
selectAllChildren(r),await navigator.clipboard?.writeText(r.textContent??"").then(()=>i.textContent="copied",()=>{})}),r.after(" ",i)}var ut=()=>{for(let r of T)
try{r.draw()}catch(i){O(i)}};U(ut);rt();})();
