"use strict";(()=>{function tt(i){let[s,e]=i.split("."),t=s.replace(/\B(?=(\d{3})+$)/g,",");return e===void 0?t:t+"."+e}function W(i){if(i===0)return"0";let s=Math.floor(Math.log10(
Math.abs(i)));return Math.abs(i)>=Math.pow(10,s+1)*(1-5e-4)&&s++,tt(i.toFixed(Math.min(Math.max(2-s,0),20)))}function et(i,s){let e=s[s.length-1];if(i===0)return"\
0 "+e[1];for(let[t,n]of s)if(Math.abs(i)/t>=.9995)return(t===1&&Number.isInteger(i)?tt(String(i)):W(i/t))+" "+n;return W(i)+" "+e[1]}function x(i){return et(i,[
[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function D(i){return et(i,[[1e12,"TB"],[1e9,"GB"],[1e6,"MB"],[1e3,"kB"],[1,"B"]])}function S(i){return W(i*100)+" %"}function K(i){return(i>0?"+":"")+x(i)}function A(i,s){if(!(i>0))return[0];let e=i/s,t=Math.pow(10,Math.floor(Math.log10(e))),n=[1,2,5,10].find(o=>o*t>=e*.999)||
10,r=[];for(let o=0;o<=i*1.0001;o+=n*t)r.push(o);return r}function bt(){let{theme:i}=document.documentElement.dataset;return i==="dark"||i!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function wt(){let i=getComputedStyle(
document.documentElement),s=bt()?2:1;return e=>/light-dark\(\s*([^,]+?)\s*,\s*([^)]+?)\s*\)/.exec(i.getPropertyValue("--"+e))?.[s]??"#888888"}var $=[];function nt(i){
let s=document.documentElement;matchMedia("(prefers-color-scheme: dark)").addEventListener("change",i),addEventListener("beforeprint",()=>{s.dataset.theme="ligh\
t",s.dataset.print="1",document.querySelectorAll("details").forEach(e=>e.open=!0),i()}),addEventListener("afterprint",()=>{delete s.dataset.theme,delete s.dataset.
print,i()}),i(),s.dataset.ready="1"}var P=class{constructor(s,e,t={}){this.height=e;this.canvas=typeof s=="string"?document.getElementById(s):s,this.left=t.left??
58,this.bottom=t.bottom??22,this.canvas.style.height=e+"px",$.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.
width||this.draw())),this.sizes.observe(this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),$.splice($.indexOf(this),
1)}area(){return{x:this.left,y:6,w:Math.max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let s=this.canvas.clientWidth,e=window.devicePixelRatio||
1;if(s===0)return;this.width=s,this.canvas.width=Math.round(s*e),this.canvas.height=Math.round(this.height*e);let t=this.pen();t&&(this.paint(t),this.ground??=document.
createElement("canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.
mark(t),this.canvas.dataset.drawn="1")}again(){let s=this.pen();if(!s||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();s.ctx.setTransform(
1,0,0,1,0,0),s.ctx.clearRect(0,0,this.canvas.width,this.canvas.height),s.ctx.drawImage(this.ground,0,0),this.mark({...s,ctx:this.sharp(s.ctx)})}sharp(s){let e=window.
devicePixelRatio||1;return s.setTransform(e,0,0,e,0,0),s}pen(){let s=this.canvas.getContext("2d");return s?(this.sharp(s).font="11px system-ui, sans-serif",{ctx:s,
area:this.area(),color:wt()}):null}paint(s){}mark(s){}yAxis({ctx:s,area:e,color:t},n,r){s.textAlign="right",s.textBaseline="middle";let o=Math.max(e.h/45,2),a=A(
n,o);for(let h=o+1;a.length<3&&h<o+6;h++)a=A(n,h);for(let h of a){let l=e.y+e.h*(1-h/n);s.fillStyle=t("line"),s.fillRect(e.x,Math.round(l),e.w,1),s.fillStyle=t(
"soft"),s.fillText(r(h),e.x-6,l)}}};function st(){let i=document.getElementById("tip");if(i)return i;let s=document.createElement("div");return s.id="tip",s.setAttribute(
"role","status"),document.body.appendChild(s)}function z(i,s,e,t){let n=st(),r=document.createElement("dl");for(let[d,u]of t.rows){let c=document.createElement(
"dt"),m=document.createElement("dd");c.textContent=d,m.textContent=u,r.append(c,m)}let o=document.createElement("strong");o.textContent=t.title,n.replaceChildren(
o,r),n.hidden=!1;let a=i.getBoundingClientRect(),h=n.getBoundingClientRect(),l=document.documentElement.clientWidth,f=a.left+s+14;f+h.width>l-8&&(f=Math.max(a.left+
s-14-h.width,4));let p=a.top+e+14;p+h.height>window.innerHeight-4&&(p=Math.max(a.top+e-14-h.height,4)),n.style.left=f+window.scrollX+"px",n.style.top=p+window.scrollY+
"px"}function B(){st().hidden=!0}var O=class{constructor(s,e=4){this.cols=s;this.least=e;this.hi=Math.max(s,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(s){
this.moved||=s,!this.pending&&(this.pending=requestAnimationFrame(()=>{let e=this.moved;this.pending=0,this.moved=!1;for(let t of this.plots)e?t.draw():t.again();
e&&this.whenMoved()}))}zoom(s,e){let t=Math.min(Math.max(e-s,this.least),this.cols),n=(s+e)/2;this.lo=Math.min(Math.max(n-t/2,0),this.cols-t),this.hi=this.lo+t,
this.changed(!0)}point(s){this.col=s<0?-1:Math.min(s,this.cols-1);let e=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+
.5-e/2,this.col+.5+e/2),this.changed(!1)}};function T(i,s){let e=document.createElement("span"),t=document.createElement("i");return e.className="key",t.style.background=
`var(${i})`,e.append(t,s),e}function I(i){return["compute","transfer","wait","unrecorded","copy"].includes(i)?i:"idle: "+i}function X(i,s,e){let t=document.createElement("span"),n=i.filter(
o=>o.ns>0),r=n.reduce((o,a)=>o+a.ns,0);t.className="bar wide",t.role="img",t.ariaLabel=t.title=n.map(e).join(", "),t.style.width=s*100+"%";for(let o of n){let a=t.
appendChild(document.createElement("i"));a.className="s-"+o.name,a.style.width=o.ns/r*100+"%"}return t}function q(i){let s=["decode","prefill","mixed","other","idle"].indexOf(i);return"k"+(s<0?3:s)}function M(i,s){let e=i.filter(t=>t>0).sort((t,n)=>t-n);return e.
length?e[Math.floor(s*(e.length-1))]:0}var k=class extends P{constructor(e,t,n,r,o,a=28){super(e,t,{left:o,bottom:a});this.data=n;this.view=r;this.grid=n.grid,r.
plots.push(this),this.listen()}data;view;grid;x(e,t){return t.x+(e-this.view.lo)/(this.view.hi-this.view.lo)*t.w}colAt(e){let t=this.area();return this.view.lo+
(e-t.x)/t.w*(this.view.hi-this.view.lo)}colOf(e){let{first:t,last:n}=this.grid,r=0,o=t.length-1;for(;r<o;){let a=r+o+1>>1;t[a]<=e?r=a:o=a-1}return t.length&&t[r]<=
e&&e<=n[r]?r:-1}stepName(e){let t=this.grid,n=t.kind[e]<0?"several kinds":this.data.kinds[t.kind[e]];return(t.first[e]===t.last[e]?"step "+t.first[e]:`steps ${t.
first[e]}–${t.last[e]}`)+", "+n}xAxis({ctx:e,area:t,color:n}){let r=this.grid,o=this.view,a=t.y+t.h,h=Math.max(Math.floor(o.lo),0),l=Math.min(Math.ceil(o.hi),
r.cols);if(this.data.kinds.length>1)for(let c=h;c<l;c++){let m=Math.max(this.x(c,t),t.x),w=Math.min(this.x(c+1,t),t.x+t.w);e.fillStyle=n(r.kind[c]<0?"k4":q(this.
data.kinds[r.kind[c]])),e.fillRect(m,a+3,Math.max(w-m-(w-m>3?1:0),.5),4)}e.textAlign="center",e.textBaseline="top",e.fillStyle=n("soft");let f=(l-h)*r.bucket,p=A(
f,Math.max(t.w/70,2)),d=Math.max(Math.round(p.length>1?p[1]:1),1),u=-1/0;for(let c=h;c<l;c++){let m=Math.ceil(r.first[c]/d)*d,w=this.x(c+(r.bucket===1?.5:(m-r.first[c])/
r.bucket),t);m>r.last[c]||w-u<30||w<t.x||w>t.x+t.w||(e.fillText(String(m),w,a+10),u=w)}}mark({ctx:e,area:t,color:n}){let r=this.view.col;if(r<this.view.lo-1||r>
this.view.hi)return;let o=Math.max(this.x(r,t),t.x),a=Math.min(this.x(r+1,t),t.x+t.w);r<0||a<=o||(e.strokeStyle=n("mark"),e.globalAlpha=.7,e.strokeRect(o+.5,t.y+
.5,Math.max(a-o-1,1),t.h-1),e.globalAlpha=1)}tip(e,t){return null}tipAt(e,t){return null}rowAt(e){return 0}rows(){return 1}point(e,t,n,r){this.rows()>1&&(this.view.
row=t),this.view.point(e);let o=n!==void 0&&r!==void 0&&this.tipAt(n,r)||this.tip(this.view.col,t),a=this.area();if(!o)return B();z(this.canvas,n??this.x(this.view.
col+.5,a),r??a.y+a.h*(t+.5)/this.rows(),o)}onpick=null;listen(){let e=this.canvas,t=this.view,n=NaN;e.addEventListener("pointerdown",r=>{n=r.offsetX}),e.addEventListener(
"pointermove",r=>{let o=Math.floor(this.colAt(r.offsetX));if(o<0||o>=this.grid.cols||r.offsetX<this.left)return this.leave();this.point(o,this.rowAt(r.offsetY),
r.offsetX,r.offsetY)}),e.addEventListener("pointerup",r=>{if(Math.abs(r.offsetX-n)>8){let o=this.colAt(n),a=this.colAt(r.offsetX);t.zoom(Math.min(o,a),Math.max(
o,a))}else t.col>=0&&this.onpick?.(t.col,this.rowAt(r.offsetY));n=NaN}),e.addEventListener("pointerleave",()=>this.leave()),e.addEventListener("blur",()=>this.leave()),
e.addEventListener("dblclick",()=>t.zoom(0,t.cols)),e.addEventListener("keydown",r=>{this.key(r.key,r.shiftKey)&&r.preventDefault()})}leave(){B(),this.view.point(
-1)}key(e,t){let n=this.view,r=n.col<0?Math.floor(n.lo):n.col,o=n.col<0?(n.lo+n.hi)/2:n.col+.5,a=(n.hi-n.lo)/2,h=t?10:1,l=this.rows()>1?n.row:0;switch(e){case"A\
rrowLeft":return this.point(Math.max(r-h,0),l),!0;case"ArrowRight":return this.point(Math.min(n.col<0?r:r+h,n.cols-1),l),!0;case"ArrowUp":case"ArrowDown":return this.
rows()<2?!1:(this.point(r,Math.min(Math.max(n.row+(e==="ArrowUp"?-h:h),0),this.rows()-1)),!0);case"Home":return this.point(0,l),!0;case"End":return this.point(n.
cols-1,l),!0;case"+":case"=":return n.zoom(o-a/2,o+a/2),!0;case"-":return n.zoom(o-a*2,o+a*2),!0;case"Enter":return!this.onpick||n.col<0?!1:(this.onpick(n.col,l),
!0);case"Escape":return this.leave(),n.zoom(0,n.cols),!0}return!1}};var F=class extends k{rank=-1;share=!1;values=[];constructor(s,e,t="bars"){super(t,240,s,e),this.pick(-1)}pick(s){let e=this.grid,t=this.data.ranks.length;this.
rank=s,this.values=e.parts.map(({ns:n})=>{if(s>=0)return n.slice(s*e.cols,(s+1)*e.cols);let r=new Array(e.cols).fill(-1);for(let o=0;o<e.cols;o++){let a=0,h=0;for(let l=0;l<
t;l++){let f=n[l*e.cols+o];f>=0&&(a+=f,h++)}h&&(r[o]=a/h)}return r})}total(s){return this.values.reduce((e,t)=>e+Math.max(t[s],0),0)}paint(s){let{ctx:e,area:t,color:n}=s,
r=this.view,o=Math.max(Math.floor(r.lo),0),a=Math.min(Math.ceil(r.hi),this.grid.cols),h=[];for(let c=o;c<a;c++)h.push(this.total(c));let l=Math.max(...h,1),f=M(
h,.9),p=this.share?1:l>3*f&&f>0?f*1.3:l*1.05;this.yAxis(s,p,this.share?S:x),rt("bars",!this.share&&l>p?l:0);let d=this.grid.parts.map(c=>n(c.name)),u=t.w/(r.hi-
r.lo)>=5?1:0;for(let c=o;c<a;c++){let m=Math.max(this.x(c,t),t.x),w=Math.min(this.x(c+1,t),t.x+t.w),y=h[c-o],g=0;for(let b=0;b<this.values.length;b++){let v=Math.
max(this.values[b][c],0)/(this.share&&y||1),E=Math.min(g+v,p);E>g&&(e.fillStyle=d[b],e.fillRect(m,t.y+t.h*(1-E/p),Math.max(w-m-u,.6),t.h*(E-g)/p)),g=E}if(!this.
share&&y>p){let b=(m+w-u)/2;e.fillStyle=n("mark"),e.beginPath(),e.moveTo(b-4,t.y+7),e.lineTo(b+4,t.y+7),e.lineTo(b,t.y+1),e.fill()}}this.xAxis(s)}tip(s){let e=this.
rank<0?"mean over ranks":this.data.ranks[this.rank],t=this.total(s),n=[["total",x(Math.round(t))]];return this.grid.parts.forEach((r,o)=>{let a=Math.max(this.values[o][s],
0);a>0&&n.push([I(r.name),`${x(Math.round(a))} · ${S(a/(t||1))}`])}),{title:`${this.stepName(s)}, ${e}`,rows:n}}};function rt(i,s){let e=document.getElementById(
"cut-"+i),t=s?`▼ cut: up to ${x(Math.round(s))}`:"";e&&e.textContent!==t&&(e.textContent=t)}var Y=class extends k{log=!1;cols;constructor(s,e,t="lengths"){super(
t,220,s,e);let n=s.grid,r=s.lengths;this.cols=r.step.map(o=>{let a=this.colOf(o);return a<0?-1:a+(o-n.first[a]+.5)/(n.last[a]-n.first[a]+1)})}paint(s){let{ctx:e,
area:t,color:n}=s,r=this.data.lengths,o=this.view,a=r.ns.filter((g,b)=>this.cols[b]>=o.lo&&this.cols[b]<=o.hi),h=a.reduce((g,b)=>Math.max(g,b),1),l=M(a,.9),f=!this.
log&&h>5*l&&l>0,p=f?l*1.5:h*1.1;rt("lengths",f?h:0);let d=a.reduce((g,b)=>Math.min(g,Math.max(b,1)),h)/1.3,u=Math.log(p/d),c=g=>t.y+t.h*(1-(this.log?Math.log(Math.
max(g,1)/d)/u:Math.min(g,p)/p));this.log?this.logAxis(s,d,p,c):this.yAxis(s,p,x),e.save(),e.beginPath(),e.rect(t.x,0,t.w,t.y+t.h),e.clip();let m=a.length>1500?1.6:
a.length>300?2.4:3.2,w=this.data.kinds.map(g=>n(q(g))),y=n("mark");for(let g=0;g<r.ns.length;g++){if(this.cols[g]<o.lo||this.cols[g]>o.hi)continue;let b=this.x(
this.cols[g],t),v=c(r.ns[g]);e.fillStyle=w[r.kind[g]],e.beginPath(),f&&r.ns[g]>p?(e.moveTo(b-4,v+7),e.lineTo(b+4,v+7),e.lineTo(b,v)):e.arc(b,v,m,0,7),e.fill(),r.
slow[g]&&(e.strokeStyle=y,e.beginPath(),e.arc(b,v,m+2.5,0,7),e.stroke())}e.restore(),this.xAxis(s)}logAxis({ctx:s,area:e,color:t},n,r,o){s.textAlign="right",s.textBaseline=
"middle";for(let a=Math.floor(Math.log10(n));a<=Math.log10(r);a++)for(let h of r/n>300?[1]:[1,2,5]){let l=h*Math.pow(10,a);l<n||l>r||(s.fillStyle=t("line"),s.fillRect(
e.x,Math.round(o(l)),e.w,1),s.fillStyle=t("soft"),s.fillText(x(l),e.x-6,o(l)))}}tip(s){let e=this.data.lengths,t=[];for(let n=0;n<e.ns.length&&t.length<8;n++)Math.
floor(this.cols[n])===s&&t.push([`step ${e.step[n]}, ${this.data.kinds[e.kind[n]]}`,x(e.ns[n])+(e.slow[n]?" · slow":"")]);return{title:this.stepName(s),rows:t}}};
function ot(i,s){if(document.getElementById("bars")){let e=new F(i,s),t=document.getElementById("bars-rank");i.ranks.length>1&&t.add(new Option("mean over ranks",
"-1")),i.ranks.forEach((o,a)=>t.add(new Option(o,String(a)))),e.pick(Number(t.value)),t.addEventListener("change",()=>{e.pick(Number(t.value)),e.draw()});let n=document.
getElementById("bars-share");n.addEventListener("change",()=>{e.share=n.checked,e.draw()});let r=i.grid.parts.filter(o=>o.ns.some(a=>a>0)).map(o=>T("--"+o.name,
I(o.name)));document.getElementById("bars-keys")?.replaceChildren(...r)}if(document.getElementById("lengths")){let e=new Y(i,s),t=document.getElementById("lengt\
hs-log");e.log=t.checked=M(i.lengths.ns,1)>8*M(i.lengths.ns,.5),t.addEventListener("change",()=>{e.log=t.checked,e.draw()})}for(let e of document.querySelectorAll(
".kinds")){if(i.kinds.length<2)continue;let t=i.kinds.map(n=>T("--"+q(n),n));i.grid.kind.includes(-1)&&t.push(T("--k4","several kinds in one column")),e.replaceChildren(
...t)}}function R(i){return[parseInt(i.slice(1,3),16),parseInt(i.slice(3,5),16),parseInt(i.slice(5,7),16)]}function it(i,s){let e=Math.min(Math.max(s,0),1)*(i.length-1),
t=Math.min(Math.floor(e),i.length-2),n=e-t;return i[t].map((r,o)=>Math.round(r+(i[t+1][o]-r)*n))}function xt(i,s,e){let t=[],n=0;for(let r=0;r<s;r++){let o=[];for(let a=e>
2?1:0;a<e;a++)o.push(Math.abs(i[r*e+a]));for(let a of o)t.push(a);n=Math.max(n,M(o,.9))}return Math.max(n,M(t,.98))}function yt(i,s,e,t){let n=0,r=0;for(let l=0;l<
i.length;l++)i[l]>n&&(n=i[l]),i[l]<r&&(r=i[l]);let o=s*1.0005,a=e?"+":"",h=[];return n>o&&h.push("up to "+a+t(n)),r<-o&&h.push("down to "+t(r)),[(r<-o?"≤ ":"")+
(e?t(-s):"0"),(n>o?"≥ ":"")+a+t(s),h.length>0?"; cut: "+h.join(", "):""]}var vt=64,G=9,j=class extends k{constructor(e,t,n,r,o,a){let h=Math.ceil(t.ranks.length/
vt),l=Math.ceil(t.ranks.length/h),f=Math.max(Math.min(Math.floor(240/l),24),4);super(e,l*f+34,t,n,Math.max(64,10+7.5*Math.max(...t.ranks.map(p=>Math.min(p.length,
G)))));this.what=r;this.scale=a;this.per=h,this.values=t.grid[r],this.both=r!=="wait",this.limit=Math.max(this.usual(),o,1),this.drawScale()}what;scale;values;per;both;limit;only=-1;usual(){
return xt(this.values,this.data.ranks.length,this.grid.cols)}rows(){return Math.ceil(this.data.ranks.length/this.per)}rankOf(e,t){let n=e*this.per,r=-1;for(let o=n;o<
Math.min((e+1)*this.per,this.data.ranks.length);o++){let a=o*this.grid.cols+t,h=this.grid.parts[0].ns[a]<0?0:this.values[a],l=h>0?2*h:-h;l>r&&([n,r]=[o,l])}return n}rowOf(e){
return Math.floor(e/this.per)}rowAt(e){let t=this.area();return Math.min(Math.max(Math.floor((e-t.y)/t.h*this.rows()),0),this.rows()-1)}drawScale(){let e=this.scale;
if(!e)return;let t=document.createElement("i");t.style.background=this.both?"linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))":"lin\
ear-gradient(to right, var(--cold), var(--warm), var(--hot))";let[n,r,o]=yt(this.values,this.limit,this.both,x);e.replaceChildren(n,t,r+o)}paint(e){let{ctx:t,area:n,
color:r}=e,o=this.grid,a=this.view,h=this.rows(),l=[R(r("cold")),R(r("warm")),R(r("hot"))],f=[R(r("cold")),R(r("under"))],p=r("panel"),d=n.h/h,u=Math.max(Math.floor(
a.lo),0),c=Math.min(Math.ceil(a.hi),o.cols),m=n.w/(a.hi-a.lo)>=5?1:0,w=d>=8?1:0;for(let y=0;y<h;y++)for(let g=u;g<c;g++){let b=this.rankOf(y,g)*o.cols+g,v=Math.
max(this.x(g,n),n.x),E=Math.min(this.x(g+1,n),n.x+n.w);if(o.parts[0].ns[b]<0)t.fillStyle=p;else{let C=this.values[b]/this.limit,[_,ft,gt]=C<0?it(f,-C):it(l,C);t.
fillStyle=`rgb(${_},${ft},${gt})`}t.fillRect(v,n.y+y*d,Math.max(E-v-m,.6),Math.max(d-w,1))}this.labels(e,d),this.xAxis(e),this.outline(e,d)}labels({ctx:e,area:t,
color:n},r){e.textAlign="right",e.textBaseline="middle";let o=Math.ceil(12/r),a=new Map(this.data.findings.flatMap(h=>h.kind==="straggler"?h.ranks:[]).map(h=>[this.
rowOf(h),h]));for(let h=0;h<this.rows();h++){let l=a.get(h),f=[...a.keys()].some(u=>u!==h&&Math.abs(u-h)<o);if(l===void 0&&(h%o!==0||o>1&&f))continue;let p=this.
data.ranks[l??h*this.per];e.fillStyle=n(l!==void 0?"text":"soft");let d=p.length>G?p.slice(0,G-1)+"…":p;e.fillText(d,t.x-6,t.y+(h+.5)*r)}}outline({ctx:e,area:t,
color:n},r){e.save(),e.beginPath(),e.rect(t.x-2,t.y-2,t.w+4,t.h+4),e.clip(),e.strokeStyle=n("mark"),e.lineWidth=1.5;for(let[o,a]of this.data.findings.entries()){
if(a.first<0||(this.only>=0?o!==this.only:a.kind!=="straggler")||this.only<0&&(this.what==="work"&&a.cause==="host"||this.what==="host"&&a.cause!=="host"))continue;
let h=this.colOf(a.first),l=this.colOf(a.last);if(h<0)continue;let f=this.x(h,t),p=this.x((l<0?this.grid.cols-1:l)+1,t);for(let d of new Set(a.ranks.map(u=>this.
rowOf(u))))e.strokeRect(f-.5,t.y+d*r-.5,p-f,r)}e.restore()}mark({ctx:e,area:t,color:n}){let r=t.h/this.rows(),o=this.view.col;o<0||o+1<this.view.lo||o>this.view.
hi||(e.strokeStyle=n("mark"),e.globalAlpha=.45,e.strokeRect(this.x(o,t),t.y,Math.max(this.x(o+1,t)-this.x(o,t),1),t.h),e.globalAlpha=1,e.lineWidth=2,e.strokeRect(
this.x(o,t),t.y+this.view.row*r,Math.max(this.x(o+1,t)-this.x(o,t)-1,1),r-1),e.lineWidth=1)}tip(e,t){let n=this.grid,r=this.rankOf(t,e),o=r*n.cols+e,a=Math.min(
this.per,this.data.ranks.length-t*this.per)-1,h=`${this.data.ranks[r]}, ${this.stepName(e)}${a>0?`; less of ${a} more`:""}`;if(n.parts[0].ns[o]<0)return{title:h,
rows:[["this rank lacks the step",""]]};let l=n.parts[0].ns[o];return{title:h,rows:[["own work",x(l)],["beyond the median rank",K(n.work[o])],["host gap beyond \
the median",K(n.host[o])],["waited",x(n.wait[o])],...n.batch[e]>=0?[["batch",String(n.batch[e])]]:[],...n.tokens[e]>=0?[["tokens",String(n.tokens[e])]]:[]]}}};function kt(i,s){
let{parts:e}=i.grid,t=e[0].ns.length;if(s==="work")return M(e[0].ns,.5)*.1;let n=[];for(let r=0;r<t;r++)n.push(e.reduce((o,a)=>o+Math.max(a.ns[r],0),0));return M(
n,.5)*.1}function at(i,s){if(document.getElementById("map-work"))for(let e of["work","host","wait"])new j("map-"+e,i,s,e,kt(i,e),document.getElementById("scale-"+
e))}var Mt={floor:"floor",start:"start",slow:"slow",other:"other kernels",idle:"idle"};function H(i,s,e){return i.map((t,n)=>({name:t,label:Mt[t]??I(t),ns:s[n]/Math.
max(e,1)}))}function U(i){return i.reduce((s,e)=>s+e.ns,0)}function J(i,s){return`${i.label} ${x(i.ns)} (${S(i.ns/(s||1))})`}function L(i,s,...e){let t=document.
createElement(i);return t.append(s),t.classList.add(...e),t}function ht(i,s,e){let t=document.createElement("table"),n=t.createTHead().insertRow(),r=t.createTBody();
t.className="shares",t.createCaption().textContent=i,s.forEach((o,a)=>{let h=L("th",o,...a>1?["r"]:[]);h.setAttribute("scope","col"),n.append(h)});for(let[o,a,...h]of e){
let l=L("th",o),f=r.insertRow();l.setAttribute("scope","row"),f.append(l,L("td",a),...h.map(p=>L("td",p.replace(/(?<=≥) | (?=[nµm]?s\b|%)/g," "),"r")))}return t}
function Et({kind:i,why:s,bars:e}){let t=e.reduce((o,a)=>o+a.steps,0),n=e.reduce((o,a)=>o+a.told,0),r=t===0?`The kernels of ${i} steps cannot be assigned to mod\
ules`:`The kernels of ${t-n} of ${t} ${i} steps cannot be assigned to modules and count as other kernels`;return L("p",`${r}: ${s}.`,"caveat")}var lt=16;function Lt(i,s,e=""){
let t=s.bars.filter(d=>e===""||d.rank===e).map(d=>({rank:d.rank,steps:d.steps,parts:H(i.parts,d.parts,d.steps)})),n=s.why===""?[]:[Et(s)];if(t.length===0)return n;
let r=Math.max(...t.map(d=>U(d.parts)),1),o=t.reduce((d,u)=>d+u.steps,0),a=H(i.parts,i.parts.map((d,u)=>t.reduce((c,m)=>c+m.parts[u].ns*m.steps,0)),o),h=i.parts.
indexOf("wait"),l=t.map(d=>d.parts[h].ns).sort((d,u)=>d-u)[lt-1]??1/0,f=t.filter(d=>d.parts[h].ns<=l).slice(0,lt);n.push(ht(`Device time of a ${s.kind} step`,["\
rank",s.kind+" step","time","floor"],f.map(({rank:d,parts:u})=>{let c=U(u);return[d,X(u,c/r,m=>J(m,c)),x(Math.round(c)),S(u[0].ns/(c||1))]})));let p=L("p",t.length>
1?"Mean: ":"","keys");return p.append(...a.filter(d=>d.ns>0).map(d=>T("--"+d.name,J(d,U(a))))),n.push(p),f.length<t.length&&n.push(L("p",`The ${f.length} of ${t.
length} ranks that wait least for others; the mean is that of all.`,"keys")),n}function Tt(i,{rank:s,steps:e,modules:t},n=r=>r.module){let r=Math.max(...t.map(l=>l.
time_ns),1),o=t.map(l=>{let f=Math.min(l.floor_ns,l.time_ns),p=Math.min(Math.max(l.attainable_ns,f),l.time_ns),d=l.why!==""?H(["other"],[l.time_ns],e):H(["floor",
"start","slow"],[f,p-f,l.time_ns-p],e),u=X(d,l.time_ns/r,c=>J(c,l.time_ns/e));return[n(l),u,x(Math.round(l.time_ns/e)),l.why===""?l.floor:"not known",l.of_attainable>
0?S(l.of_attainable):"–"]}),a=L("p","","keys");a.append(...H(["floor","start","slow"],[0,0,0],1).map(l=>T("--"+l.name,l.label)));let h=t.filter(l=>l.why!=="").
map(l=>`${l.module}: ${l.why}.`);return h.length>0&&a.append(T("--other","floor not known")),t.some(l=>l.floor.startsWith("≥"))&&h.push("≥: a lower bound, so \
the slow part may be smaller than drawn."),[ht(`Modules of a ${i} step on ${s}`,["module",i+" step","time","floor","of attainable"],o),a,...h.map(l=>L("p",l,"ke\
ys"))]}function ct({light:i}){let s=document.getElementById("light-steps"),e=document.getElementById("light-bars");if(!i||!s||(s.replaceChildren(...i.kinds.flatMap(
o=>Lt(i,o))),!e))return;let t=document.getElementById("light-of"),n=i.kinds.flatMap(({kind:o,rank:a,ranks:h})=>h.map(l=>({kind:o,of:l,first:l.rank===a})));n.forEach(
({kind:o,of:a},h)=>t.add(new Option(`${o}, ${a.rank}`,String(h)))),t.selectedIndex=Math.max(n.findIndex(({first:o})=>o),0);let r=()=>e.replaceChildren(...n.length>
0?Tt(n[Number(t.value)].kind,n[Number(t.value)].of):[]);t.addEventListener("change",r),r()}var Q=class extends P{constructor(e){super("memory-plot",220,{left:68});this.series=e;this.canvas.addEventListener("pointermove",t=>this.point(this.nearest(t.offsetX),
t.offsetX,t.offsetY)),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.addEventListener(
"keydown",t=>{let n=this.series[this.index].at.length-1,r=t.shiftKey?10:1;if(t.key==="ArrowRight")this.point(Math.min(this.at+r,n));else if(t.key==="ArrowLeft")
this.point(Math.max(this.at-r,0));else if(t.key==="Home")this.point(0);else if(t.key==="End")this.point(n);else if(t.key==="Escape")this.point(-1);else return;t.
preventDefault()})}series;index=0;at=-1;x(e,t){let{at:n}=this.series[this.index],r=n[0]??0,o=n[n.length-1]??1;return e.x+(t-r)/Math.max(o-r,1)*e.w}nearest(e){let{
at:t}=this.series[this.index],n=this.area(),r=0,o=t.length-1;for(;r<o;){let a=r+o>>1;this.x(n,t[a])<e?r=a+1:o=a}return r>0&&e-this.x(n,t[r-1])<this.x(n,t[r])-e?
r-1:r}point(e,t,n){this.at=e,this.again();let r=this.series[this.index];if(e<0||e>=r.at.length)return B();z(this.canvas,t??this.x(this.area(),r.at[e]),n??20,{title:r.
label,rows:[["at",x(r.at[e])],["allocated",D(r.allocated[e])],["reserved",D(r.reserved[e])]]})}paint(e){let{ctx:t,area:n,color:r}=e,o=this.series[this.index];if(o.
at.length===0)return;let a=[o.allocated,o.reserved].flat().reduce((p,d)=>Math.max(p,d),1)*1.05;this.yAxis(e,a,D);let h=(p,d)=>{t.beginPath(),o.at.forEach((u,c)=>{
let m=this.x(n,u),w=n.y+n.h*(1-p[c]/a);c===0?t.moveTo(m,w):(t.lineTo(m,n.y+n.h*(1-p[c-1]/a)),t.lineTo(m,w))}),t.stroke(),d&&(t.lineTo(n.x+n.w,n.y+n.h),t.lineTo(
n.x,n.y+n.h),t.globalAlpha=.15,t.fill(),t.globalAlpha=1)};t.strokeStyle=r("soft"),t.setLineDash([5,4]),h(o.reserved,!1),t.setLineDash([]),t.strokeStyle=t.fillStyle=
r("compute"),t.lineWidth=1.5,h(o.allocated,!0),t.fillStyle=r("soft"),t.textAlign="center",t.textBaseline="top";let l=o.at[0],f=o.at[o.at.length-1];for(let p of A(
f-l,Math.max(n.w/110,2)))t.fillText(x(p),Math.min(this.x(n,l+p),n.x+n.w-16),n.y+n.h+5)}mark({ctx:e,area:t,color:n}){let{at:r}=this.series[this.index];this.at<0||
this.at>=r.length||(e.fillStyle=n("mark"),e.fillRect(this.x(t,r[this.at]),t.y,1,t.h))}};function dt(i){if(!document.getElementById("memory-plot"))return;let s=new Q(
i.memory),e=document.getElementById("memory-series");i.memory.forEach((t,n)=>e.add(new Option(t.label,String(n)))),e.addEventListener("change",()=>{s.index=Number(
e.value),s.at=-1,s.draw()})}function mt(i){let s=i.tBodies[0],e=[...s.rows],t=[...i.tHead?.rows[0].cells??[]],n=i.parentElement,r=e.length<=15,o="",a="",h=t.findIndex(u=>u.textContent==="k\
ind"),l=h<0?[]:[...new Set(e.map(u=>u.cells[h].textContent??""))],f=document.createElement("button");f.type="button",f.className="more";let p=document.createElement(
"span"),d=()=>{let u=0,c=0;for(let m of s.rows){let w=(o===""||(m.textContent??"").toLowerCase().includes(o))&&(a===""||m.cells[h].textContent===a);w&&u++,m.hidden=
!w||!r&&c>=12,m.hidden||c++}f.hidden=u<=12||e.length<=15,f.textContent=r?"Show the first 12 only":`Show all ${u}`,p.textContent=o===""?"":`${u} of ${e.length} r\
ows`};if(f.addEventListener("click",()=>{r=!r,d()}),i.addEventListener("reveal",()=>{r=!0,o=a="",i.parentElement?.previousElementSibling?.querySelectorAll("inpu\
t[type=search], select").forEach(u=>u.value=""),d()}),t.forEach((u,c)=>{if(!u.textContent)return;let m=document.createElement("button");m.type="button",m.textContent=
u.textContent,u.replaceChildren(m),m.addEventListener("click",()=>{let w=e.some(b=>b.cells[c].dataset.v!==void 0),y=u.ariaSort,g=y?y==="ascending":w;for(let b of t)
b.removeAttribute("aria-sort");u.ariaSort=g?"descending":"ascending",e.sort((b,v)=>{let E=b.cells[c],C=v.cells[c],_=w?Number(E.dataset.v??0)-Number(C.dataset.v??
0):(E.textContent??"").localeCompare(C.textContent??"");return g?-_:_}),s.append(...e),d()})}),e.length>8||i.dataset.names){let u=document.createElement("div");
if(u.className="tabletools",l.length>1&&e.length>8){let c=document.createElement("label"),m=document.createElement("select");m.add(new Option("every kind",""));
for(let w of l)m.add(new Option(w==="all"?"all together":w,w));l.includes("all")&&(a=m.value="all"),m.addEventListener("change",()=>{a=m.value,d()}),c.append("S\
teps of kind ",m),u.append(c)}if(e.length>8){let c=document.createElement("label"),m=document.createElement("input");m.type="search",m.addEventListener("input",
()=>{o=m.value.trim().toLowerCase(),d()}),c.append("Filter ",m),u.append(c,p),p.setAttribute("role","status")}if(i.dataset.names){let c=document.createElement("\
label"),m=document.createElement("input");m.type="checkbox",m.addEventListener("change",()=>i.classList.toggle("names",m.checked)),c.append(m," full names"),u.append(
c)}n.before(u)}n.after(f),d()}var ut=document.documentElement,V=i=>{if(ut.dataset.error)return;ut.dataset.error=String(i);let s=document.createElement("p");s.className="caveat error",s.textContent=
"An error in this page: some plots are missing: "+i,document.querySelector("header")?.append(s)};addEventListener("error",i=>V(i.message));addEventListener("unh\
andledrejection",i=>V(i.reason));var N=JSON.parse(document.getElementById("data")?.textContent??"{}"),Z=new O(N.grid.cols);for(let i of[()=>at(N,Z),()=>ot(N,Z),
()=>dt(N),()=>ct(N),()=>document.querySelectorAll("main .scroll table").forEach(s=>mt(s))])try{i()}catch(s){V(s)}for(let i of document.querySelectorAll("a[data-\
step]"))i.addEventListener("click",()=>{let s=document.querySelector(`${i.getAttribute("href")} canvas`),e=$.find(n=>n instanceof k&&(!s||n.canvas===s));if(!(e instanceof
k))return;let t=e.colOf(Number(i.dataset.step));if(!s)return Z.point(t);e.canvas.focus({preventScroll:!0}),e.point(t,Number(i.dataset.rank??0))});var pt=()=>{let i=location.
hash&&document.getElementById(location.hash.slice(1));!(i instanceof HTMLTableRowElement)||!i.hidden||(i.closest("table")?.dispatchEvent(new Event("reveal")),i.
scrollIntoView({block:"center"}))};addEventListener("hashchange",pt);for(let i of document.querySelectorAll(".command")){let s=document.createElement("button");
s.type="button",s.className="copy",s.textContent="copy",s.setAttribute("aria-label","copy "+i.textContent),s.addEventListener("click",async()=>{getSelection()?.
selectAllChildren(i),await navigator.clipboard?.writeText(i.textContent??"").then(()=>s.textContent="copied",()=>{})}),i.after(" ",s)}var St=()=>{for(let i of $)
try{i.draw()}catch(s){V(s)}};nt(St);pt();})();
