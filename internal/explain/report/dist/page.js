"use strict";(()=>{function Y(r){let[s,t]=r.split("."),e=s.replace(/\B(?=(\d{3})+$)/g,",");return t===void 0?e:e+"."+t}function q(r){if(r===0)return"0";let s=Math.floor(Math.log10(
Math.abs(r)));return Math.abs(r)>=Math.pow(10,s+1)*(1-5e-4)&&s++,Y(r.toFixed(Math.min(Math.max(2-s,0),20)))}function j(r,s){let t=s[s.length-1];if(r===0)return"\
0 "+t[1];for(let[e,n]of s)if(Math.abs(r)/e>=.9995)return(e===1&&Number.isInteger(r)?Y(String(r)):q(r/e))+" "+n;return q(r)+" "+t[1]}function v(r){return j(r,[[1e9,
"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function H(r){return j(r,[[1e12,"TB"],[1e9,"GB"],[1e6,"MB"],[1e3,"kB"],[1,"B"]])}function V(r){return q(r*100)+" %"}function A(r){return(r>0?"+":"")+v(r)}function L(r,s){
if(!(r>0))return[0];let t=r/s,e=Math.pow(10,Math.floor(Math.log10(t))),n=[1,2,5,10].find(o=>o*e>=t*.999)||10,i=[];for(let o=0;o<=r*1.0001;o+=n*e)i.push(o);return i}function lt(){let{theme:r}=document.documentElement.dataset;return r==="dark"||r!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function ht(){let r=getComputedStyle(
document.documentElement),s=lt()?2:1;return t=>/light-dark\(([^,]*),\s*([^)]*)\)/.exec(r.getPropertyValue("--"+t))?.[s]??"#888888"}var T=[];function K(r){let s=document.
documentElement;matchMedia("(prefers-color-scheme: dark)").addEventListener("change",r),addEventListener("beforeprint",()=>{s.dataset.theme="light",s.dataset.print=
"1",document.querySelectorAll("details").forEach(t=>t.open=!0),r()}),addEventListener("afterprint",()=>{delete s.dataset.theme,delete s.dataset.print,r()}),r(),
s.dataset.ready="1"}var C=class{constructor(s,t,e={}){this.height=t;this.canvas=typeof s=="string"?document.getElementById(s):s,this.left=e.left??58,this.bottom=
e.bottom??22,this.canvas.style.height=t+"px",T.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.width||this.
draw())),this.sizes.observe(this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),T.splice(T.indexOf(this),1)}area(){return{
x:this.left,y:6,w:Math.max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let s=this.canvas.clientWidth,t=window.devicePixelRatio||
1;if(s===0)return;this.width=s,this.canvas.width=Math.round(s*t),this.canvas.height=Math.round(this.height*t);let e=this.pen();e&&(this.paint(e),this.ground??=document.
createElement("canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.
mark(e),this.canvas.dataset.drawn="1")}again(){let s=this.pen();if(!s||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();s.ctx.setTransform(
1,0,0,1,0,0),s.ctx.clearRect(0,0,this.canvas.width,this.canvas.height),s.ctx.drawImage(this.ground,0,0),this.mark({...s,ctx:this.scale(s.ctx)})}scale(s){let t=window.
devicePixelRatio||1;return s.setTransform(t,0,0,t,0,0),s}pen(){let s=this.canvas.getContext("2d");return s?(this.scale(s).font="11px system-ui, sans-serif",{ctx:s,
area:this.area(),color:ht()}):null}paint(s){}mark(s){}yAxis({ctx:s,area:t,color:e},n,i){s.textAlign="right",s.textBaseline="middle";for(let o of L(n,Math.max(t.
h/45,2))){let a=t.y+t.h*(1-o/n);s.fillStyle=e("line"),s.fillRect(t.x,Math.round(a),t.w,1),s.fillStyle=e("soft"),s.fillText(i(o),t.x-6,a)}}};function U(){let r=document.
getElementById("tip");if(r)return r;let s=document.createElement("div");return s.id="tip",s.setAttribute("role","status"),document.body.appendChild(s)}function D(r,s,t,e){
let n=U(),i=document.createElement("dl");for(let[w,u]of e.rows){let c=document.createElement("dt"),d=document.createElement("dd");c.textContent=w,d.textContent=
u,i.append(c,d)}let o=document.createElement("strong");o.textContent=e.title,n.replaceChildren(o,i),n.hidden=!1;let a=r.getBoundingClientRect(),l=n.getBoundingClientRect(),
h=document.documentElement.clientWidth,p=a.left+s+14;p+l.width>h-8&&(p=Math.max(a.left+s-14-l.width,4));let m=a.top+t+14;m+l.height>window.innerHeight-4&&(m=Math.
max(a.top+t-14-l.height,4)),n.style.left=p+window.scrollX+"px",n.style.top=m+window.scrollY+"px"}function P(){U().hidden=!0}var N=class{constructor(s,t=4){this.
cols=s;this.least=t;this.hi=Math.max(s,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(s){this.moved||=s,!this.pending&&
(this.pending=requestAnimationFrame(()=>{let t=this.moved;this.pending=0,this.moved=!1;for(let e of this.plots)t?e.draw():e.again();t&&this.whenMoved()}))}zoom(s,t){
let e=Math.min(Math.max(t-s,this.least),this.cols),n=(s+t)/2;this.lo=Math.min(Math.max(n-e/2,0),this.cols-e),this.hi=this.lo+e,this.changed(!0)}point(s){this.col=
s<0?-1:Math.min(s,this.cols-1);let t=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-t/2,this.col+.5+t/2),this.changed(
!1)}};function $(r){let s=["decode","prefill","mixed","other","idle"].indexOf(r);return"k"+(s<0?3:s)}function M(r,s){let t=r.filter(e=>e>0).sort((e,n)=>e-n);return t.
length?t[Math.floor(s*(t.length-1))]:0}var k=class extends C{constructor(t,e,n,i,o,a=28){super(t,e,{left:o,bottom:a});this.data=n;this.view=i;this.grid=n.grid,i.
plots.push(this),this.listen()}data;view;grid;x(t,e){return e.x+(t-this.view.lo)/(this.view.hi-this.view.lo)*e.w}colAt(t){let e=this.area();return this.view.lo+
(t-e.x)/e.w*(this.view.hi-this.view.lo)}colOf(t){let{first:e,last:n}=this.grid,i=0,o=e.length-1;for(;i<o;){let a=i+o+1>>1;e[a]<=t?i=a:o=a-1}return e.length&&e[i]<=
t&&t<=n[i]?i:-1}stepName(t){let e=this.grid,n=e.kind[t]<0?"several kinds":this.data.kinds[e.kind[t]];return(e.first[t]===e.last[t]?"step "+e.first[t]:`steps ${e.
first[t]}–${e.last[t]}`)+", "+n}xAxis({ctx:t,area:e,color:n}){let i=this.grid,o=this.view,a=e.y+e.h,l=Math.max(Math.floor(o.lo),0),h=Math.min(Math.ceil(o.hi),
i.cols);if(this.data.kinds.length>1)for(let c=l;c<h;c++){let d=Math.max(this.x(c,e),e.x),b=Math.min(this.x(c+1,e),e.x+e.w);t.fillStyle=n(i.kind[c]<0?"k4":$(this.
data.kinds[i.kind[c]])),t.fillRect(d,a+3,Math.max(b-d-(b-d>3?1:0),.5),4)}t.textAlign="center",t.textBaseline="top",t.fillStyle=n("soft");let p=(h-l)*i.bucket,m=L(
p,Math.max(e.w/70,2)),w=Math.max(Math.round(m.length>1?m[1]:1),1),u=-1/0;for(let c=l;c<h;c++){let d=Math.ceil(i.first[c]/w)*w,b=this.x(c+(i.bucket===1?.5:(d-i.first[c])/
i.bucket),e);d>i.last[c]||b-u<30||b<e.x||b>e.x+e.w||(t.fillText(String(d),b,a+10),u=b)}}mark({ctx:t,area:e,color:n}){let i=this.view.col;if(i<this.view.lo-1||i>
this.view.hi)return;let o=Math.max(this.x(i,e),e.x),a=Math.min(this.x(i+1,e),e.x+e.w);i<0||a<=o||(t.strokeStyle=n("mark"),t.globalAlpha=.7,t.strokeRect(o+.5,e.y+
.5,Math.max(a-o-1,1),e.h-1),t.globalAlpha=1)}tip(t,e){return null}tipAt(t,e){return null}rowAt(t){return 0}rows(){return 1}point(t,e,n,i){this.rows()>1&&(this.view.
row=e),this.view.point(t);let o=n!==void 0&&i!==void 0&&this.tipAt(n,i)||this.tip(this.view.col,e),a=this.area();if(!o)return P();D(this.canvas,n??this.x(this.view.
col+.5,a),i??a.y+a.h*(e+.5)/this.rows(),o)}listen(){let t=this.canvas,e=this.view,n=NaN;t.addEventListener("pointerdown",i=>{n=i.offsetX}),t.addEventListener("p\
ointermove",i=>{let o=Math.floor(this.colAt(i.offsetX));if(o<0||o>=this.grid.cols||i.offsetX<this.left)return this.leave();this.point(o,this.rowAt(i.offsetY),i.
offsetX,i.offsetY)}),t.addEventListener("pointerup",i=>{if(Math.abs(i.offsetX-n)>8){let o=this.colAt(n),a=this.colAt(i.offsetX);e.zoom(Math.min(o,a),Math.max(o,
a))}n=NaN}),t.addEventListener("pointerleave",()=>this.leave()),t.addEventListener("blur",()=>this.leave()),t.addEventListener("dblclick",()=>e.zoom(0,e.cols)),
t.addEventListener("keydown",i=>{this.key(i.key,i.shiftKey)&&i.preventDefault()})}leave(){P(),this.view.point(-1)}key(t,e){let n=this.view,i=n.col<0?Math.floor(
n.lo):n.col,o=n.col<0?(n.lo+n.hi)/2:n.col+.5,a=(n.hi-n.lo)/2,l=e?10:1,h=this.rows()>1?n.row:0;switch(t){case"ArrowLeft":return this.point(Math.max(i-l,0),h),!0;case"\
ArrowRight":return this.point(Math.min(n.col<0?i:i+l,n.cols-1),h),!0;case"ArrowUp":case"ArrowDown":return this.rows()<2?!1:(this.point(i,Math.min(Math.max(n.row+
(t==="ArrowUp"?-l:l),0),this.rows()-1)),!0);case"Home":return this.point(0,h),!0;case"End":return this.point(n.cols-1,h),!0;case"+":case"=":return n.zoom(o-a/2,
o+a/2),!0;case"-":return n.zoom(o-a*2,o+a*2),!0;case"Escape":return this.leave(),n.zoom(0,n.cols),!0}return!1}};var X=class extends k{rank=-1;share=!1;values=[];constructor(s,t,e="bars"){super(e,240,s,t),this.pick(-1)}pick(s){let t=this.grid,e=this.data.ranks.length;this.
rank=s,this.values=t.parts.map(({ns:n})=>{if(s>=0)return n.slice(s*t.cols,(s+1)*t.cols);let i=new Array(t.cols).fill(-1);for(let o=0;o<t.cols;o++){let a=0,l=0;for(let h=0;h<
e;h++){let p=n[h*t.cols+o];p>=0&&(a+=p,l++)}l&&(i[o]=a/l)}return i})}total(s){return this.values.reduce((t,e)=>t+Math.max(e[s],0),0)}paint(s){let{ctx:t,area:e,color:n}=s,
i=this.view,o=Math.max(Math.floor(i.lo),0),a=Math.min(Math.ceil(i.hi),this.grid.cols),l=[];for(let c=o;c<a;c++)l.push(this.total(c));let h=Math.max(...l,1),p=M(
l,.9),m=this.share?1:h>3*p&&p>0?p*1.3:h*1.05;this.yAxis(s,m,this.share?V:v),J("bars",!this.share&&h>m?h:0);let w=this.grid.parts.map(c=>n(c.name)),u=e.w/(i.hi-i.
lo)>=5?1:0;for(let c=o;c<a;c++){let d=Math.max(this.x(c,e),e.x),b=Math.min(this.x(c+1,e),e.x+e.w),x=l[c-o],f=0;for(let g=0;g<this.values.length;g++){let y=Math.
max(this.values[g][c],0)/(this.share&&x||1),E=Math.min(f+y,m);E>f&&(t.fillStyle=w[g],t.fillRect(d,e.y+e.h*(1-E/m),Math.max(b-d-u,.6),e.h*(E-f)/m)),f=E}if(!this.
share&&x>m){let g=(d+b-u)/2;t.fillStyle=n("mark"),t.beginPath(),t.moveTo(g-4,e.y+7),t.lineTo(g+4,e.y+7),t.lineTo(g,e.y+1),t.fill()}}this.xAxis(s)}tip(s){let t=this.
rank<0?"mean over ranks":this.data.ranks[this.rank],e=this.total(s),n=[["total",v(Math.round(e))]];return this.grid.parts.forEach((i,o)=>{let a=Math.max(this.values[o][s],
0);a>0&&n.push([Q(i.name),`${v(Math.round(a))} · ${V(a/(e||1))}`])}),{title:`${this.stepName(s)}, ${t}`,rows:n}}};function J(r,s){let t=document.getElementById(
"cut-"+r),e=s?`▼ cut: up to ${v(Math.round(s))}`:"";t&&t.textContent!==e&&(t.textContent=e)}function Q(r){return["compute","transfer","wait","copy"].includes(
r)?r:"idle: "+r}var _=class extends k{log=!1;cols;constructor(s,t,e="lengths"){super(e,220,s,t);let n=s.grid,i=s.lengths;this.cols=i.step.map(o=>{let a=this.colOf(
o);return a<0?-1:a+(o-n.first[a]+.5)/(n.last[a]-n.first[a]+1)})}paint(s){let{ctx:t,area:e,color:n}=s,i=this.data.lengths,o=this.view,a=i.ns.filter((f,g)=>this.cols[g]>=
o.lo&&this.cols[g]<=o.hi),l=a.reduce((f,g)=>Math.max(f,g),1),h=M(a,.9),p=!this.log&&l>5*h&&h>0,m=p?h*1.5:l*1.1;J("lengths",p?l:0);let w=a.reduce((f,g)=>Math.min(
f,Math.max(g,1)),l)/1.3,u=Math.log(m/w),c=f=>e.y+e.h*(1-(this.log?Math.log(Math.max(f,1)/w)/u:Math.min(f,m)/m));this.log?this.logAxis(s,w,m,c):this.yAxis(s,m,v),
t.save(),t.beginPath(),t.rect(e.x,0,e.w,e.y+e.h),t.clip();let d=a.length>1500?1.6:a.length>300?2.4:3.2,b=this.data.kinds.map(f=>n($(f))),x=n("mark");for(let f=0;f<
i.ns.length;f++){if(this.cols[f]<o.lo||this.cols[f]>o.hi)continue;let g=this.x(this.cols[f],e),y=c(i.ns[f]);t.fillStyle=b[i.kind[f]],t.beginPath(),p&&i.ns[f]>m?
(t.moveTo(g-4,y+7),t.lineTo(g+4,y+7),t.lineTo(g,y)):t.arc(g,y,d,0,7),t.fill(),i.slow[f]&&(t.strokeStyle=x,t.beginPath(),t.arc(g,y,d+2.5,0,7),t.stroke())}t.restore(),
this.xAxis(s)}logAxis({ctx:s,area:t,color:e},n,i,o){s.textAlign="right",s.textBaseline="middle";for(let a=Math.floor(Math.log10(n));a<=Math.log10(i);a++)for(let l of i/
n>300?[1]:[1,2,5]){let h=l*Math.pow(10,a);h<n||h>i||(s.fillStyle=e("line"),s.fillRect(t.x,Math.round(o(h)),t.w,1),s.fillStyle=e("soft"),s.fillText(v(h),t.x-6,o(
h)))}}tip(s){let t=this.data.lengths,e=[];for(let n=0;n<t.ns.length&&e.length<8;n++)Math.floor(this.cols[n])===s&&e.push([`step ${t.step[n]}, ${this.data.kinds[t.
kind[n]]}`,v(t.ns[n])+(t.slow[n]?" · slow":"")]);return{title:this.stepName(s),rows:e}}};function Z(r,s){if(document.getElementById("bars")){let t=new X(r,s),e=document.
getElementById("bars-rank");r.ranks.length>1&&e.add(new Option("mean over ranks","-1")),r.ranks.forEach((o,a)=>e.add(new Option(o,String(a)))),t.pick(Number(e.value)),
e.addEventListener("change",()=>{t.pick(Number(e.value)),t.draw()});let n=document.getElementById("bars-share");n.addEventListener("change",()=>{t.share=n.checked,
t.draw()});let i=r.grid.parts.filter(o=>o.ns.some(a=>a>0)).map(o=>W("--"+o.name,Q(o.name)));document.getElementById("bars-keys")?.replaceChildren(...i)}if(document.
getElementById("lengths")){let t=new _(r,s),e=document.getElementById("lengths-log");t.log=e.checked=M(r.lengths.ns,1)>8*M(r.lengths.ns,.5),e.addEventListener("\
change",()=>{t.log=e.checked,t.draw()})}for(let t of document.querySelectorAll(".kinds")){if(r.kinds.length<2)continue;let e=r.kinds.map(n=>W("--"+$(n),n));r.grid.
kind.includes(-1)&&e.push(W("--k4","several kinds in one column")),t.replaceChildren(...e)}}function W(r,s){let t=document.createElement("span"),e=document.createElement(
"i");return t.className="key",e.style.background=`var(${r})`,t.append(e,s),t}function B(r){return[parseInt(r.slice(1,3),16),parseInt(r.slice(3,5),16),parseInt(r.slice(5,7),16)]}function tt(r,s){let t=Math.min(Math.max(s,0),1)*(r.length-1),
e=Math.min(Math.floor(t),r.length-2),n=t-e;return r[e].map((i,o)=>Math.round(i+(r[e+1][o]-i)*n))}function ct(r,s,t){let e=[],n=0;for(let i=0;i<s;i++){let o=[];for(let a=t>
2?1:0;a<t;a++)o.push(Math.abs(r[i*t+a]));for(let a of o)e.push(a);n=Math.max(n,M(o,.9))}return Math.max(n,M(e,.98))}var R=class extends k{constructor(t,e,n,i,o){
let a=e.ranks.length,l=Math.max(Math.min(Math.floor(240/a),24),4);super(t,a*l+34,e,n,64);this.what=i;this.values=e.grid[i],this.both=i!=="wait",this.limit=Math.
max(this.usual(),o,1),this.drawScale()}what;values;both;limit;usual(){return ct(this.values,this.rows(),this.grid.cols)}rows(){return this.data.ranks.length}rowAt(t){
let e=this.area();return Math.min(Math.max(Math.floor((t-e.y)/e.h*this.rows()),0),this.rows()-1)}drawScale(){let t=document.getElementById("scale-"+this.what);if(!t)
return;let e=document.createElement("i");e.style.background=this.both?"linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))":"linear-gr\
adient(to right, var(--cold), var(--warm), var(--hot))";let n=this.values.reduce((p,m)=>Math.max(p,m),0),i=this.values.reduce((p,m)=>Math.min(p,m),0),o=this.limit*
1.0005,a=(this.both?"+":"")+v(this.limit),l=this.both?A(-this.limit):"0";t.replaceChildren(i<-o?"≤ "+l:l,e,n>o?"≥ "+a:a);let h=[];n>o&&h.push("up to "+(this.
both?A(n):v(n))),i<-o&&h.push("down to "+A(i)),h.length&&t.append("; cut: "+h.join(", "))}paint(t){let{ctx:e,area:n,color:i}=t,o=this.grid,a=this.view,l=this.rows(),
h=[B(i("cold")),B(i("warm")),B(i("hot"))],p=[B(i("cold")),B(i("under"))],m=i("panel"),w=n.h/l,u=Math.max(Math.floor(a.lo),0),c=Math.min(Math.ceil(a.hi),o.cols),
d=n.w/(a.hi-a.lo)>=5?1:0,b=w>=8?1:0;for(let x=0;x<l;x++)for(let f=u;f<c;f++){let g=x*o.cols+f,y=Math.max(this.x(f,n),n.x),E=Math.min(this.x(f+1,n),n.x+n.w);if(o.
parts[0].ns[g]<0)e.fillStyle=m;else{let S=this.values[g]/this.limit,[I,rt,at]=S<0?tt(p,-S):tt(h,S);e.fillStyle=`rgb(${I},${rt},${at})`}e.fillRect(y,n.y+x*w,Math.
max(E-y-d,.6),Math.max(w-b,1))}this.labels(t,w),this.xAxis(t),this.outline(t,w)}labels({ctx:t,area:e,color:n},i){t.textAlign="right",t.textBaseline="middle";let o=Math.
ceil(12/i),a=new Set(this.data.findings.flatMap(l=>l.kind==="straggler"?l.ranks:[]));this.data.ranks.forEach((l,h)=>{if(h%o!==0&&!a.has(h)||h%o===0&&o>1&&[...a].
some(m=>m!==h&&Math.abs(m-h)<o))return;t.fillStyle=n(a.has(h)?"text":"soft");let p=l.length>9?l.slice(0,8)+"…":l;t.fillText(p,e.x-6,e.y+(h+.5)*i)})}outline({ctx:t,
area:e,color:n},i){t.save(),t.beginPath(),t.rect(e.x-2,e.y-2,e.w+4,e.h+4),t.clip(),t.strokeStyle=n("mark"),t.lineWidth=1.5;for(let o of this.data.findings){if(o.
kind!=="straggler"||o.first<0||this.what==="work"&&o.cause==="host"||this.what==="host"&&o.cause!=="host")continue;let a=this.colOf(o.first),l=this.colOf(o.last);
if(a<0)continue;let h=this.x(a,e),p=this.x((l<0?this.grid.cols-1:l)+1,e);for(let m of o.ranks)t.strokeRect(h-.5,e.y+m*i-.5,p-h,i)}t.restore()}mark({ctx:t,area:e,
color:n}){let i=e.h/this.rows(),o=this.view.col;o<0||o+1<this.view.lo||o>this.view.hi||(t.strokeStyle=n("mark"),t.globalAlpha=.45,t.strokeRect(this.x(o,e),e.y,Math.
max(this.x(o+1,e)-this.x(o,e),1),e.h),t.globalAlpha=1,t.lineWidth=2,t.strokeRect(this.x(o,e),e.y+this.view.row*i,Math.max(this.x(o+1,e)-this.x(o,e)-1,1),i-1),t.
lineWidth=1)}tip(t,e){let n=this.grid,i=e*n.cols+t,o=`${this.data.ranks[e]}, ${this.stepName(t)}`;if(n.parts[0].ns[i]<0)return{title:o,rows:[["this rank lacks t\
he step",""]]};let a=n.parts[0].ns[i];return{title:o,rows:[["own work",v(a)],["beyond the median rank",A(n.work[i])],["host gap beyond the median",A(n.host[i])],
["waited",v(n.wait[i])],...n.batch[t]>=0?[["batch",String(n.batch[t])]]:[],...n.tokens[t]>=0?[["tokens",String(n.tokens[t])]]:[]]}}};function et(r,s){if(!document.
getElementById("map-work"))return;let t=r.grid.parts,e=t[0].ns.length,n=M(t[0].ns,.5),i=[];for(let a=0;a<e;a++)i.push(t.reduce((l,h)=>l+Math.max(h.ns[a],0),0));
let o=M(i,.5);new R("map-work",r,s,"work",n*.1),new R("map-host",r,s,"host",o*.1),new R("map-wait",r,s,"wait",o*.1)}var F=class extends C{constructor(t){super("memory-plot",220,{left:68});this.series=t;this.canvas.addEventListener("pointermove",e=>this.point(this.nearest(e.offsetX),
e.offsetX,e.offsetY)),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.addEventListener(
"keydown",e=>{let n=this.series[this.index].at.length-1,i=e.shiftKey?10:1;if(e.key==="ArrowRight")this.point(Math.min(this.at+i,n));else if(e.key==="ArrowLeft")
this.point(Math.max(this.at-i,0));else if(e.key==="Home")this.point(0);else if(e.key==="End")this.point(n);else if(e.key==="Escape")this.point(-1);else return;e.
preventDefault()})}series;index=0;at=-1;x(t,e){let{at:n}=this.series[this.index],i=n[0]??0,o=n[n.length-1]??1;return t.x+(e-i)/Math.max(o-i,1)*t.w}nearest(t){let{
at:e}=this.series[this.index],n=this.area(),i=0,o=e.length-1;for(;i<o;){let a=i+o>>1;this.x(n,e[a])<t?i=a+1:o=a}return i>0&&t-this.x(n,e[i-1])<this.x(n,e[i])-t?
i-1:i}point(t,e,n){this.at=t,this.again();let i=this.series[this.index];if(t<0||t>=i.at.length)return P();D(this.canvas,e??this.x(this.area(),i.at[t]),n??20,{title:i.
label,rows:[["at",v(i.at[t])],["allocated",H(i.allocated[t])],["reserved",H(i.reserved[t])]]})}paint(t){let{ctx:e,area:n,color:i}=t,o=this.series[this.index];if(o.
at.length===0)return;let a=[o.allocated,o.reserved].flat().reduce((m,w)=>Math.max(m,w),1)*1.05;this.yAxis(t,a,H);let l=(m,w)=>{e.beginPath(),o.at.forEach((u,c)=>{
let d=this.x(n,u),b=n.y+n.h*(1-m[c]/a);c===0?e.moveTo(d,b):(e.lineTo(d,n.y+n.h*(1-m[c-1]/a)),e.lineTo(d,b))}),e.stroke(),w&&(e.lineTo(n.x+n.w,n.y+n.h),e.lineTo(
n.x,n.y+n.h),e.globalAlpha=.15,e.fill(),e.globalAlpha=1)};e.strokeStyle=i("soft"),e.setLineDash([5,4]),l(o.reserved,!1),e.setLineDash([]),e.strokeStyle=e.fillStyle=
i("compute"),e.lineWidth=1.5,l(o.allocated,!0),e.fillStyle=i("soft"),e.textAlign="center",e.textBaseline="top";let h=o.at[0],p=o.at[o.at.length-1];for(let m of L(
p-h,Math.max(n.w/110,2)))e.fillText(v(m),Math.min(this.x(n,h+m),n.x+n.w-16),n.y+n.h+5)}mark({ctx:t,area:e,color:n}){let{at:i}=this.series[this.index];this.at<0||
this.at>=i.length||(t.fillStyle=n("mark"),t.fillRect(this.x(e,i[this.at]),e.y,1,e.h))}};function nt(r){if(!document.getElementById("memory-plot"))return;let s=new F(
r.memory),t=document.getElementById("memory-series");r.memory.forEach((e,n)=>t.add(new Option(e.label,String(n)))),t.addEventListener("change",()=>{s.index=Number(
t.value),s.at=-1,s.draw()})}function st(r){let s=r.tBodies[0],t=[...s.rows],e=[...r.tHead?.rows[0].cells??[]],n=r.parentElement,i=t.length<=15,o="",a="",l=e.findIndex(u=>u.textContent==="k\
ind"),h=l<0?[]:[...new Set(t.map(u=>u.cells[l].textContent??""))],p=document.createElement("button");p.type="button",p.className="more";let m=document.createElement(
"span"),w=()=>{let u=0,c=0;for(let d of s.rows){let b=(o===""||(d.textContent??"").toLowerCase().includes(o))&&(a===""||d.cells[l].textContent===a);b&&u++,d.hidden=
!b||!i&&c>=12,d.hidden||c++}p.hidden=u<=12||t.length<=15,p.textContent=i?"Show the first 12 only":`Show all ${u}`,m.textContent=o===""?"":`${u} of ${t.length} r\
ows`};if(p.addEventListener("click",()=>{i=!i,w()}),r.addEventListener("reveal",()=>{i=!0,o=a="",r.parentElement?.previousElementSibling?.querySelectorAll("inpu\
t[type=search], select").forEach(u=>u.value=""),w()}),e.forEach((u,c)=>{if(!u.textContent)return;let d=document.createElement("button");d.type="button",d.textContent=
u.textContent,u.replaceChildren(d),d.addEventListener("click",()=>{let b=t.some(g=>g.cells[c].dataset.v!==void 0),x=u.ariaSort,f=x?x==="ascending":b;for(let g of e)
g.removeAttribute("aria-sort");u.ariaSort=f?"descending":"ascending",t.sort((g,y)=>{let E=g.cells[c],S=y.cells[c],I=b?Number(E.dataset.v??0)-Number(S.dataset.v??
0):(E.textContent??"").localeCompare(S.textContent??"");return f?-I:I}),s.append(...t),w()})}),t.length>8||r.dataset.names){let u=document.createElement("div");
if(u.className="tabletools",h.length>1&&t.length>8){let c=document.createElement("label"),d=document.createElement("select");d.add(new Option("every kind",""));
for(let b of h)d.add(new Option(b==="all"?"all together":b,b));h.includes("all")&&(a=d.value="all"),d.addEventListener("change",()=>{a=d.value,w()}),c.append("S\
teps of kind ",d),u.append(c)}if(t.length>8){let c=document.createElement("label"),d=document.createElement("input");d.type="search",d.addEventListener("input",
()=>{o=d.value.trim().toLowerCase(),w()}),c.append("Filter ",d),u.append(c,m),m.setAttribute("role","status")}if(r.dataset.names){let c=document.createElement("\
label"),d=document.createElement("input");d.type="checkbox",d.addEventListener("change",()=>r.classList.toggle("names",d.checked)),c.append(d," full names"),u.append(
c)}n.before(u)}n.after(p),w()}var it=document.documentElement,O=r=>{if(it.dataset.error)return;it.dataset.error=String(r);let s=document.createElement("p");s.className="caveat error",s.textContent=
"An error in this page: some plots are missing: "+r,document.querySelector("header")?.append(s)};addEventListener("error",r=>O(r.message));addEventListener("unh\
andledrejection",r=>O(r.reason));var z=JSON.parse(document.getElementById("data")?.textContent??"{}"),G=new N(z.grid.cols);for(let r of[()=>et(z,G),()=>Z(z,G),()=>nt(
z),()=>document.querySelectorAll("main .scroll table").forEach(s=>st(s))])try{r()}catch(s){O(s)}for(let r of document.querySelectorAll("a[data-step]"))r.addEventListener(
"click",()=>{let s=document.querySelector(`${r.getAttribute("href")} canvas`),t=T.find(n=>n instanceof k&&(!s||n.canvas===s));if(!(t instanceof k))return;let e=t.
colOf(Number(r.dataset.step));if(!s)return G.point(e);t.canvas.focus({preventScroll:!0}),t.point(e,Number(r.dataset.rank??0))});var ot=()=>{let r=location.hash&&
document.getElementById(location.hash.slice(1));!(r instanceof HTMLTableRowElement)||!r.hidden||(r.closest("table")?.dispatchEvent(new Event("reveal")),r.scrollIntoView(
{block:"center"}))};addEventListener("hashchange",ot);for(let r of document.querySelectorAll(".command")){let s=document.createElement("button");s.type="button",
s.className="copy",s.textContent="copy",s.setAttribute("aria-label","copy "+r.textContent),s.addEventListener("click",async()=>{getSelection()?.selectAllChildren(
r),await navigator.clipboard?.writeText(r.textContent??"").then(()=>s.textContent="copied",()=>{})}),r.after(" ",s)}var dt=()=>{for(let r of T)try{r.draw()}catch(s){
O(s)}};K(dt);ot();})();
