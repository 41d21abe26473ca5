"use strict";(()=>{var j=class extends Error{constructor(n,e){super(n);this.status=e}status},vt=(()=>{let a=document.getElementById("answers");return a===null?null:JSON.parse(a.textContent??
"{}")})();function te(a,t={}){let n=new URLSearchParams;for(let s of Object.keys(t).sort()){let i=t[s];i!=null&&i!==""&&n.set(s,String(i))}let e=n.toString();return"\
api/"+a+(e===""?"":"?"+e)}var Zt=0,Ne=()=>{};function He(a){Ne=a}async function W(a){Zt++;try{return await a}finally{setTimeout(()=>{--Zt===0&&Ne()})}}function rt(){
return Zt===0}async function ee(a,t){let n;try{n=await fetch(a,t)}catch(i){throw t.signal?.aborted?i:new j("stepscope does not answer: has it been ended?",0)}if(n.
ok)return n;let e=await n.text(),s=e;try{s=JSON.parse(e).error}catch{}throw new j(s,n.status)}function $e(a){let t=vt?.[a];if(t===void 0)throw new j("this is no\
t part of an exported page: open the capture with stepscope view",404);return t}function M(a,t={},n){let e=te(a,t);return W((async()=>vt!==null?$e(e).json:await(await ee(
e,n?{signal:n}:{})).json())())}function ne(a,t={},n){let e=te(a,t);return W((async()=>vt!==null?Uint8Array.from(atob($e(e).base64??""),s=>s.charCodeAt(0)).buffer:
await(await ee(e,n?{signal:n}:{})).arrayBuffer())())}function se(a,t){if(vt!==null)return Promise.reject(new j("an exported page has no server behind it",404));
let n={method:"POST",headers:{"Content-Type":"application/json"},body:JSON.stringify(t)};return W((async()=>await(await ee(te(a),n)).json())())}function o(a,t=null,...n){let e=document.createElement(a);for(let[s,i]of Object.entries(t??{}))if(!(i==null||i===!1))if(s==="on")for(let[r,h]of Object.entries(i))
e.addEventListener(r,h);else s==="data"?Object.assign(e.dataset,i):s==="class"?e.className=String(i):e.setAttribute(s,i===!0?"":String(i));return Oe(e,...n),e}function Oe(a,...t){
for(let n of t)n==null||n===!1||a.append(typeof n=="number"?String(n):n)}function x(a,...t){a.replaceChildren(),Oe(a,...t)}var Cn={ArrowLeft:"←",ArrowRight:"→",ArrowUp:"↑",ArrowDown:"↓",Escape:"Esc"," ":"Space",Enter:"Enter"},wt=class{bindings=[];dialog=null;constructor(){addEventListener(
"keydown",t=>this.press(t)),this.bind("?","Everywhere","show the keys",()=>this.show())}bind(t,n,e,s){let i={keys:t===" "?[" "]:t.split(" "),help:e,group:n,run:s};
return this.bindings.push(i),()=>{this.bindings=this.bindings.filter(r=>r!==i)}}press(t){if(t.defaultPrevented||this.dialog?.open)return;let n=t.target;if(n instanceof
HTMLInputElement&&!["checkbox","radio","button","range"].includes(n.type)||n instanceof HTMLSelectElement||n instanceof HTMLTextAreaElement){t.key==="Escape"&&n.
blur();return}if(n instanceof HTMLInputElement&&n.type==="range"&&t.key.startsWith("Arrow"))return;let s=(t.ctrlKey||t.metaKey?"Ctrl+":"")+(t.altKey?"Alt+":"")+
(t.shiftKey&&t.key.length>1?"Shift+":"")+t.key,i=this.bindings.findLast(r=>r.keys.includes(s));i!==void 0&&(t.preventDefault(),i.run(t))}show(){this.dialog??=document.
body.appendChild(o("dialog",{class:"keys-dialog","aria-label":"Keys"}));let t=new Map;for(let n of this.bindings)t.set(n.group,[...t.get(n.group)??[],n]);x(this.
dialog,o("h2",null,"Keys"),o("div",{class:"keys-groups"},...[...t].map(([n,e])=>o("section",null,o("h3",null,n),o("dl",null,...e.flatMap(s=>[o("dt",null,...s.keys.
flatMap((i,r)=>[r>0&&" ",o("kbd",null,i.split("+").map(h=>Cn[h]??(h||"+")).join(" + "))])),o("dd",null,s.help)]))))),o("form",{method:"dialog"},o("button",{class:"\
button"},"Close"))),this.dialog.showModal()}};function ze(a){let t=Object.create(null);for(let[n,e]of new URLSearchParams(a.replace(/^#/,"")))n!==""&&e!==""&&(t[n]=e);return t}function $(a){let t=Object.keys(
a).sort((n,e)=>+(e==="tab")-+(n==="tab")||(n<e?-1:1));return"#"+new URLSearchParams(t.map(n=>[n,a[n]])).toString()}function Ie(a,t){let n=Object.assign(Object.create(
null),a);for(let[e,s]of Object.entries(t))s==null||s===""?delete n[e]:n[e]=typeof s=="number"?String(Math.round(s)):s;return n}function A(a,t,n){let e=a[t];return e!==
void 0&&/^-?\d{1,15}$/.test(e)?Number(e):n}function P(a,t){let n=Object.create(null);for(let e of["theme","c","run","vs"])a[e]!==void 0&&(n[e]=a[e]);return Ie(n,
t)}var xt=class{listeners=[];params=ze(location.hash);constructor(){addEventListener("hashchange",()=>this.take(ze(location.hash)))}follow(t){this.listeners.push(
t)}set(t,n="replace"){this.go(Ie(this.params,t),n)}go(t,n="push"){let e=$(t);e!==$(this.params)&&(n==="push"?history.pushState(null,"",e):history.replaceState(null,
"",e),this.take(t))}take(t){let n=this.params;this.params=t;for(let e of this.listeners)e(t,n)}};var ie={id:"summary",title:"Summary",needs:"capture",open:()=>({el:o("div",null)})};function T(a){let[t,n]=a.split("."),e=t.replace(/\B(?=(\d{3})+$)/g,",");return n===void 0?e:e+"."+n}function re(a){if(a===0)return"0";let t=Math.floor(Math.log10(
Math.abs(a)));return Math.abs(a)>=Math.pow(10,t+1)*(1-5e-4)&&t++,T(a.toFixed(Math.min(Math.max(2-t,0),20)))}function qn(a,t){let n=t[t.length-1];if(a===0)return"\
0 "+n[1];for(let[e,s]of t)if(Math.abs(a)/e>=.9995)return(e===1&&Number.isInteger(a)?T(String(a)):re(a/e))+" "+s;return re(a)+" "+n[1]}function g(a){return qn(a,
[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function Be(a,t){let[n,e]=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]].find(([i])=>Math.abs(a)>=i)??[1,"ns"],s=Math.
min(Math.max(Math.ceil(Math.log10(n/t)-1e-9),0),9);return a===0?"0":T((a/n).toFixed(s))+" "+e}function F(a){return re(a*100)+" %"}function H(a){return(a>0?"+":"")+g(a)}function K(a,t){if(!(a>0))return[0];let n=a/t,e=Math.pow(10,Math.floor(Math.log10(n))),
s=[1,2,5,10].find(r=>r*e>=n*.999)||10,i=[];for(let r=0;r<=a*1.0001;r+=s*e)i.push(r);return i}function Nn(){let{theme:a}=document.documentElement.dataset;return a==="dark"||a!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function at(){let a=getComputedStyle(
document.documentElement),t=Nn()?2:1;return n=>/light-dark\(([^,]*),\s*([^)]*)\)/.exec(a.getPropertyValue("--"+n))?.[t]??"#888888"}var ae=[];var O=class{constructor(t,n,e={}){this.height=n;this.canvas=typeof t=="string"?document.getElementById(t):t,this.left=e.left??58,this.bottom=e.bottom??22,this.canvas.
style.height=n+"px",ae.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.width||this.draw())),this.sizes.observe(
this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),ae.splice(ae.indexOf(this),1)}area(){return{x:this.left,y:6,w:Math.
max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let t=this.canvas.clientWidth,n=window.devicePixelRatio||1;if(t===0)return;this.
width=t,this.canvas.width=Math.round(t*n),this.canvas.height=Math.round(this.height*n);let e=this.pen();e&&(this.paint(e),this.ground??=document.createElement("\
canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.mark(e),this.canvas.
dataset.drawn="1")}again(){let t=this.pen();if(!t||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();t.ctx.setTransform(1,0,0,1,0,0),t.ctx.clearRect(
0,0,this.canvas.width,this.canvas.height),t.ctx.drawImage(this.ground,0,0),this.mark({...t,ctx:this.scale(t.ctx)})}scale(t){let n=window.devicePixelRatio||1;return t.
setTransform(n,0,0,n,0,0),t}pen(){let t=this.canvas.getContext("2d");return t?(this.scale(t).font="11px system-ui, sans-serif",{ctx:t,area:this.area(),color:at()}):
null}paint(t){}mark(t){}yAxis({ctx:t,area:n,color:e},s,i){t.textAlign="right",t.textBaseline="middle";for(let r of K(s,Math.max(n.h/45,2))){let h=n.y+n.h*(1-r/s);
t.fillStyle=e("line"),t.fillRect(n.x,Math.round(h),n.w,1),t.fillStyle=e("soft"),t.fillText(i(r),n.x-6,h)}}};function De(){let a=document.getElementById("tip");if(a)
return a;let t=document.createElement("div");return t.id="tip",t.setAttribute("role","status"),document.body.appendChild(t)}function R(a,t,n,e){let s=De(),i=document.
createElement("dl");for(let[m,c]of e.rows){let f=document.createElement("dt"),b=document.createElement("dd");f.textContent=m,b.textContent=c,i.append(f,b)}let r=document.
createElement("strong");r.textContent=e.title,s.replaceChildren(r,i),s.hidden=!1;let h=a.getBoundingClientRect(),l=s.getBoundingClientRect(),d=document.documentElement.
clientWidth,p=h.left+t+14;p+l.width>d-8&&(p=Math.max(h.left+t-14-l.width,4));let u=h.top+n+14;u+l.height>window.innerHeight-4&&(u=Math.max(h.top+n-14-l.height,4)),
s.style.left=p+window.scrollX+"px",s.style.top=u+window.scrollY+"px"}function E(){De().hidden=!0}var yt=class{constructor(t,n=4){this.cols=t;this.least=n;this.hi=
Math.max(t,1)}cols;least;lo=0;hi;col=-1;row=0;plots=[];whenMoved=()=>{};pending=0;moved=!1;changed(t){this.moved||=t,!this.pending&&(this.pending=requestAnimationFrame(
()=>{let n=this.moved;this.pending=0,this.moved=!1;for(let e of this.plots)n?e.draw():e.again();n&&this.whenMoved()}))}zoom(t,n){let e=Math.min(Math.max(n-t,this.
least),this.cols),s=(t+n)/2;this.lo=Math.min(Math.max(s-e/2,0),this.cols-e),this.hi=this.lo+e,this.changed(!0)}point(t){this.col=t<0?-1:Math.min(t,this.cols-1);
let n=this.hi-this.lo;this.col>=0&&(this.col<this.lo||this.col+1>this.hi)&&this.zoom(this.col+.5-n/2,this.col+.5+n/2),this.changed(!1)}};function ot(a,t){let n=(a.t1-a.t0)/Math.max(t,1);return Math.min(Math.max(Math.ceil(Math.log2(n)),0),40)}function kt(a,t){let n=512*2**t;return[Math.floor(a.t0/
n),Math.max(Math.ceil(a.t1/n)-1,Math.floor(a.t0/n))]}function X(a,t){let n=Math.max(t.t1-t.t0,50),e=Math.min(Math.max(a.t1-a.t0,50),n*1.5),i=(a.t0+a.t1)/2-e/2;return e>=
n*1.04?i=(t.t0+t.t1)/2-e/2:i=Math.min(Math.max(i,t.t0-e*.5),t.t1-e*.5),{t0:i,t1:i+e}}function lt(a){let t=(a.t1-a.t0)*.01;return{t0:a.t0-t,t1:a.t1+t}}function Fe(a,t,n,e){
let s=a.t1-a.t0,i=Math.max(e.t1-e.t0,50)*1.5,r=Math.min(Math.max(s*n,50),Math.max(i,s))/s;return X({t0:t-(t-a.t0)*r,t1:t+(a.t1-t)*r},e)}function oe(a,t,n){let e=(a.
t1-a.t0)*t;return X({t0:a.t0+e,t1:a.t1+e},n)}function Mt(a,t,n,e,s=!1){let i=a.t1-a.t0;if(!s&&t>=a.t0+i*.02&&t+n<=a.t1-i*.02&&n>i/400)return a;let r=s||n>i||n<i/
400?Math.max(n*(s?1.6:24),50):i,h=t+n/2;return X({t0:h-r/2,t1:h+r/2},e)}function Ue(a,t,n){let e=(a.t1-a.t0)*n/Math.max(t,1),s=10**Math.floor(Math.log10(e)),i=Math.
max(([1,2,5,10].find(r=>r*s>=e*.999)??10)*s,1);return{step:i,first:Math.ceil(a.t0/i)*i}}var St=[{by:"wall",title:"wall clock",help:"as the clocks of the ranks say"},{by:"step",title:"step start",help:"each rank is moved so that one step begins at t\
he same place on all"},{by:"collective",title:"collective entry",help:"each rank is moved so that all come to one collective at the same place"},{by:"stretched",
title:"stretched",help:"between collectives each rank's time is stretched to that of the last one to come"}];function je(a,t,n){let e=A(a,t,NaN),s=A(a,n,NaN);return e<
s?{t0:e,t1:s}:null}function V(a,t,n){let e=1/0,s=-1/0;for(let i=t;i<=n;i++){let r=a.steps[i];r===void 0||r.end_ns===0||(e=Math.min(e,r.start_ns),s=Math.max(s,r.
end_ns))}return e<s?X({t0:e-(s-e)*.06,t1:s+(s-e)*.06},ht(a)):null}function ht(a){return{t0:a.from_ns,t1:Math.max(a.to_ns,a.from_ns+1)}}function le(a,t){let n=A(
a,"step",-1),e=A(a,"rank",-1),s=je(a,"t0","t1"),i=St.some(l=>l.by===a.align)?a.align:"wall",r=l=>Number.isInteger(l)&&l>=0&&l<t.ranks.length,h=(a.only??"").split(
",").filter(l=>/^\d+$/.test(l)).map(Number).filter(r);return{view:s!==null?X(s,ht(t)):V(t,n,n)??lt(ht(t)),step:n<t.steps.length?n:-1,by:i==="stretched"&&!t.stretch||
i==="step"&&(n<0||n>=t.steps.length)?"wall":i,at:A(a,"at",0),only:[...new Set(h)],open:new Set((a.open??"").split(",").filter(l=>/^r?\d+$/.test(l))),rank:r(e)?e:
-1,sel:r(e)?A(a,"sel",-1):-1,range:je(a,"r0","r1"),q:a.q??"",heat:a.heat??(t.ranks.length>1&&t.steps.length>1?"work":"off"),y:Math.max(A(a,"y",0),0),sort:a.sort??
"-self"}}function he(a,t){return a.role==="launches"||a.role==="thread"||a.role==="python"?Math.min(a.lanes,t<=2?6:t<=4?4:t<=8?2:1):Math.min(a.lanes,2)}function Tt(a,t,n){
let e=[],s=[],i=n.length>0?n:a.ranks.map((l,d)=>d),r=new Map;a.rows.forEach((l,d)=>r.set(l.rank,[...r.get(l.rank)??[],d]));let h=0;for(let l of i){let d={rank:l,
y:h,height:0,rows:[],folded:0,open:t.has("r"+l)};h+=18;for(let p of r.get(l)??[]){let u=a.rows[p];if(!u.pinned&&!d.open){d.folded++;continue}let m=t.has(String(
p))?u.lanes:he(u,i.length);d.rows.push({row:p,y:h,height:m*16,lanes:m});for(let c=0;c<m;c++)s.push({lane:u.lane+c,row:p,rank:l,y:h+c*16,height:15});h+=m*16+3}h+=
8,d.height=h-d.y,e.push(d)}return{groups:e,lanes:s,height:h}}function de(a,t,n){let e=0,s=a.length;for(;e<s;){let r=e+s>>1;a[r].y+a[r].height<=t?e=r+1:s=r}let i=[];
for(let r=e;r<a.length&&a[r].y<n;r++)i.push(a[r]);return i}function We(a,t){let n=new Set(a);return n.delete(t)||n.add(t),n}var Hn={compute:"compute",communication:"communication",launches:"launches",ranges:"ranges of",python:"Python of",profiler:"profiler"};function Ke(a,t,n,e,s,i){
let r=[],h=(l,d)=>{l.style.top=d+"px",r.push(l)};for(let l of n.groups){let d=s!==null&&s.by!=="wall"&&s.by!=="stretched"?s.moved_ns[l.rank]:0,p=s!==null&&s.by!==
"wall"&&s.by!=="stretched"&&!s.known[l.rank]?"not moved":d!==0?"moved "+H(d):"",u=l.folded>0||l.open;h(o("div",{class:"tl-rank"+(l.rank===e?" here":"")},o("span",
null,t.ranks[l.rank]),u&&o("button",{"aria-expanded":String(l.open),"aria-label":(l.open?"Fold rows of ":"Unfold all rows of ")+t.ranks[l.rank],on:{click:()=>i(
"r"+l.rank)}},l.open?"▾ fewer":`▸ ${l.folded} more`),p!==""&&o("span",{class:"moved"},p)),l.y);for(let m of l.rows){let c=t.rows[m.row],f=Hn[c.role],b=c.lanes>
he(c,n.groups.length),v=[f!==void 0&&o("b",null,f),(f!==void 0?" ":"")+c.name,c.deeper>0&&` (${c.deeper} spans lie deeper)`],w=`${t.ranks[c.rank]}: ${f??""} ${c.
name}, ${c.spans} spans in ${c.lanes} lane${c.lanes===1?"":"s"}`,y=o("div",{class:"tl-row",title:w},b?o("button",{"aria-expanded":String(m.lanes===c.lanes),on:{
click:()=>i(String(m.row))}},m.lanes===c.lanes?"▾ ":"▸ ",...v):o("span",null,...v));y.style.height=m.height+"px",h(y,m.y)}}x(a,...r)}function Xe(a,t,n,e,s,i,r,h){
let l=window.devicePixelRatio||1,d=a.getContext("2d");a.width=Math.round(e*l),a.height=Math.round(s*l),d.setTransform(l,0,0,l,0,0),d.fillStyle=h;for(let p of t.
groups){let u=p.y-n,m=i.get(p.rank);if(m===void 0||u>s||u+18<0)continue;let c=e/m.length;m.forEach((f,b)=>{let v=Math.min(Math.abs(f)/Math.max(r,1),1)*13;v>.5&&
d.fillRect(b*c,u+18-3-v,Math.max(c,1),v)})}}function ut(a){let t=["decode","prefill","mixed","other","idle"].indexOf(a);return"k"+(t<0?3:t)}function G(a,t){let n=a.filter(e=>e>0).sort((e,s)=>e-s);return n.
length?n[Math.floor(t*(n.length-1))]:0}var dt=class extends O{constructor(n,e,s,i,r,h=28){super(n,e,{left:r,bottom:h});this.data=s;this.view=i;this.grid=s.grid,
i.plots.push(this),this.listen()}data;view;grid;x(n,e){return e.x+(n-this.view.lo)/(this.view.hi-this.view.lo)*e.w}colAt(n){let e=this.area();return this.view.lo+
(n-e.x)/e.w*(this.view.hi-this.view.lo)}colOf(n){let{first:e,last:s}=this.grid,i=0,r=e.length-1;for(;i<r;){let h=i+r+1>>1;e[h]<=n?i=h:r=h-1}return e.length&&e[i]<=
n&&n<=s[i]?i:-1}stepName(n){let e=this.grid,s=e.kind[n]<0?"several kinds":this.data.kinds[e.kind[n]];return(e.first[n]===e.last[n]?"step "+e.first[n]:`steps ${e.
first[n]}–${e.last[n]}`)+", "+s}xAxis({ctx:n,area:e,color:s}){let i=this.grid,r=this.view,h=e.y+e.h,l=Math.max(Math.floor(r.lo),0),d=Math.min(Math.ceil(r.hi),
i.cols);if(this.data.kinds.length>1)for(let f=l;f<d;f++){let b=Math.max(this.x(f,e),e.x),v=Math.min(this.x(f+1,e),e.x+e.w);n.fillStyle=s(i.kind[f]<0?"k4":ut(this.
data.kinds[i.kind[f]])),n.fillRect(b,h+3,Math.max(v-b-(v-b>3?1:0),.5),4)}n.textAlign="center",n.textBaseline="top",n.fillStyle=s("soft");let p=(d-l)*i.bucket,u=K(
p,Math.max(e.w/70,2)),m=Math.max(Math.round(u.length>1?u[1]:1),1),c=-1/0;for(let f=l;f<d;f++){let b=Math.ceil(i.first[f]/m)*m,v=this.x(f+(i.bucket===1?.5:(b-i.first[f])/
i.bucket),e);b>i.last[f]||v-c<30||v<e.x||v>e.x+e.w||(n.fillText(String(b),v,h+10),c=v)}}mark({ctx:n,area:e,color:s}){let i=this.view.col;if(i<this.view.lo-1||i>
this.view.hi)return;let r=Math.max(this.x(i,e),e.x),h=Math.min(this.x(i+1,e),e.x+e.w);i<0||h<=r||(n.strokeStyle=s("mark"),n.globalAlpha=.7,n.strokeRect(r+.5,e.y+
.5,Math.max(h-r-1,1),e.h-1),n.globalAlpha=1)}tip(n,e){return null}tipAt(n,e){return null}rowAt(n){return 0}rows(){return 1}point(n,e,s,i){this.rows()>1&&(this.view.
row=e),this.view.point(n);let r=s!==void 0&&i!==void 0&&this.tipAt(s,i)||this.tip(this.view.col,e),h=this.area();if(!r)return E();R(this.canvas,s??this.x(this.view.
col+.5,h),i??h.y+h.h*(e+.5)/this.rows(),r)}listen(){let n=this.canvas,e=this.view,s=NaN;n.addEventListener("pointerdown",i=>{s=i.offsetX}),n.addEventListener("p\
ointermove",i=>{let r=Math.floor(this.colAt(i.offsetX));if(r<0||r>=this.grid.cols||i.offsetX<this.left)return this.leave();this.point(r,this.rowAt(i.offsetY),i.
offsetX,i.offsetY)}),n.addEventListener("pointerup",i=>{if(Math.abs(i.offsetX-s)>8){let r=this.colAt(s),h=this.colAt(i.offsetX);e.zoom(Math.min(r,h),Math.max(r,
h))}s=NaN}),n.addEventListener("pointerleave",()=>this.leave()),n.addEventListener("blur",()=>this.leave()),n.addEventListener("dblclick",()=>e.zoom(0,e.cols)),
n.addEventListener("keydown",i=>{this.key(i.key,i.shiftKey)&&i.preventDefault()})}leave(){E(),this.view.point(-1)}key(n,e){let s=this.view,i=s.col<0?Math.floor(
s.lo):s.col,r=s.col<0?(s.lo+s.hi)/2:s.col+.5,h=(s.hi-s.lo)/2,l=e?10:1,d=this.rows()>1?s.row:0;switch(n){case"ArrowLeft":return this.point(Math.max(i-l,0),d),!0;case"\
ArrowRight":return this.point(Math.min(s.col<0?i:i+l,s.cols-1),d),!0;case"ArrowUp":case"ArrowDown":return this.rows()<2?!1:(this.point(i,Math.min(Math.max(s.row+
(n==="ArrowUp"?-l:l),0),this.rows()-1)),!0);case"Home":return this.point(0,d),!0;case"End":return this.point(s.cols-1,d),!0;case"+":case"=":return s.zoom(r-h/2,
r+h/2),!0;case"-":return s.zoom(r-h*2,r+h*2),!0;case"Escape":return this.leave(),s.zoom(0,s.cols),!0}return!1}};function Y(a){return[parseInt(a.slice(1,3),16),parseInt(a.slice(3,5),16),parseInt(a.slice(5,7),16)]}function C(a,t){let n=Math.min(Math.max(t,0),1)*(a.length-1),
e=Math.min(Math.floor(n),a.length-2),s=n-e;return a[e].map((i,r)=>Math.round(i+(a[e+1][r]-i)*s))}function Ve(a,t,n){let e=[],s=0;for(let i=0;i<t;i++){let r=[];for(let h=n>
2?1:0;h<n;h++)r.push(Math.abs(a[i*n+h]));for(let h of r)e.push(h);s=Math.max(s,G(r,.9))}return Math.max(s,G(e,.98))}function $n(a,t,n,e,s){let i=new Float32Array(a),r=i.subarray(0,n*e),h=i.subarray(n*e,(n+1)*e),l=new Float32Array(r.length);for(let p=0;p<r.length;p++)l[p]=t.beyond?
r[p]-h[p%e]:r[p];let d=t.unit!=="ns"?1:t.id==="work"?G(Array.from(r),.5)*.1:s*.1;return{measure:t,values:r,median:h,shown:l,limit:Math.max(Ve(l,n,e),d,1)}}function On(a,t,n,e,s){
let i=new Float32Array(e*s).fill(NaN);for(let r=0;r<t;r++){let h=Math.floor(r*e/t);for(let l=0;l<n;l++){let d=a[r*n+l],p=h*s+Math.floor(l*s/n);!Number.isNaN(d)&&
!(Math.abs(i[p])>=Math.abs(d))&&(i[p]=d)}}return i}function Ge(a,t,n,e){let s=[];for(let i=0;i<t;i++)Number.isNaN(a[i*n+e])||s.push([a[i*n+e],i]);return s.sort(
(i,r)=>i[0]-r[0]||i[1]-r[1]),s.length>0?s[s.length-1>>1][1]:-1}var q=200,pe=16,At=class{constructor(t,n,e){this.head=t;this.events=n;this.redraw=e;this.ranks=t.
ranks.length,this.steps=t.steps.length,this.length=G(t.steps.map(s=>s.end_ns-s.start_ns),.5),this.el=o("div",{class:"tl-heat"},o("div",{class:"tl-heat-head"},o(
"span",{class:"tl-title"},"Ranks × steps"),this.choices,o("span",{class:"space"}),this.scale),o("div",{class:"tl-map"},this.canvas,this.brushed,this.box)),this.
listen()}head;events;redraw;el;canvas=o("canvas",{tabindex:"0",role:"img"});box=o("div",{class:"tl-cell"});brushed=o("div",{class:"tl-brush",hidden:!0});scale=o(
"span",{class:"scale"});choices=o("span",{role:"group","aria-label":"Measure of the map"});ranks;steps;length;asked="";cells=null;at=null;shownSteps=[-1,-1];get measure(){
return this.asked}async show(t){let n=this.head.measures.find(s=>s.id===t);if(this.el.hidden=n===void 0||this.steps===0,x(this.choices,...this.head.measures.map(
s=>o("button",{class:"choice","aria-pressed":String(s.id===t),on:{click:()=>this.events.choose(s.id)}},s.title))),this.el.hidden||n===void 0||t===this.asked)return;
this.asked=t;let e=await this.events.load(t);this.asked===t&&(this.cells=$n(e,n,this.ranks,this.steps,this.length),this.redraw())}view(t,n){this.shownSteps=[t,n],
this.place(this.brushed,t<0||t===0&&n===this.steps-1?null:{rank:0,ranks:this.ranks,step:t,steps:n-t+1})}height(){return Math.min(Math.max(this.ranks*Math.min(Math.
max(Math.floor(120/this.ranks),3),18),36),256)}area(){return{x:q,w:Math.max(this.canvas.clientWidth-q-8,10),h:this.height()}}place(t,n){if(t.hidden=n===null,n===
null)return;let e=this.area();t.style.left=e.x+n.step/this.steps*e.w-1+"px",t.style.width=Math.max(n.steps/this.steps*e.w,2)+1+"px",t.style.top=n.rank/this.ranks*
e.h-1+"px",t.style.height=Math.max(n.ranks/this.ranks*e.h,2)+1+"px"}paint(t){if(this.el.hidden)return;let n=this.height();this.canvas.style.height=n+pe+"px";let e=this.
canvas.clientWidth,s=window.devicePixelRatio||1;if(e===0)return;this.canvas.width=Math.round(e*s),this.canvas.height=Math.round((n+pe)*s);let i=this.canvas.getContext(
"2d",{alpha:!1});i.setTransform(s,0,0,s,0,0),i.fillStyle=t.name("bg"),i.fillRect(0,0,e,n+pe),i.font="11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-ser\
if",this.labels(i,t),this.cells!==null&&this.map(i,t,this.cells),this.view(...this.shownSteps)}labels(t,n){let e=this.area(),s=e.h/this.ranks,i=Math.ceil(12/s);
t.fillStyle=n.name("soft"),t.textAlign="right",t.textBaseline="middle";for(let d=0;d<this.ranks;d+=i)t.fillText(this.head.ranks[d],e.x-8,(d+.5)*s,e.x-20);t.textBaseline=
"top",t.textAlign="center";let r=Math.max(Math.ceil(this.steps*44/e.w),1),h=10**Math.floor(Math.log10(r)),l=[1,2,5,10].map(d=>d*h).find(d=>d>=r)??r;for(let d=0;d<
this.steps;d+=l)t.fillText(String(d),e.x+(d+.5)/this.steps*e.w,e.h+4)}map(t,n,e){let s=this.area(),i=Math.min(this.ranks,s.h),r=Math.min(this.steps,Math.floor(s.
w)),h=On(e.shown,this.ranks,this.steps,i,r),l=v=>Y(n.name(v)),d=[l("cold"),l("warm"),l("hot")],p=[l("cold"),l("under")],u=t.createImageData(r,i),m=l("panel");for(let v=0;v<
h.length;v++){let w=h[v]/e.limit,[y,k,S]=Number.isNaN(w)?m:w<0?C(p,-w):C(d,w);u.data.set([y,k,S,255],4*v)}let c=document.createElement("canvas");if(c.width=r,c.
height=i,c.getContext("2d").putImageData(u,0,0),t.imageSmoothingEnabled=!1,t.drawImage(c,s.x,0,s.w,s.h),t.fillStyle=n.name("bg"),s.w/r>=6)for(let v=1;v<r;v++)t.
fillRect(s.x+Math.round(v/r*s.w)-1,0,1,s.h);if(s.h/i>=8)for(let v=1;v<i;v++)t.fillRect(s.x,Math.round(v/i*s.h)-1,s.w,1);let f=v=>this.text(v,e.measure),b=o("i",
null);b.style.background=e.measure.beyond?"linear-gradient(to right, var(--under), var(--cold), var(--warm), var(--hot))":"linear-gradient(to right, var(--cold)\
, var(--warm), var(--hot))",x(this.scale,e.measure.beyond?`${f(-e.limit)} `:"0 ",b,` ${e.measure.beyond?"+":""}${f(e.limit)}${e.measure.beyond?" beyond the medi\
an rank":""}`),this.canvas.setAttribute("aria-label",`Heat map of ${e.measure.title}, ${this.ranks} ranks by ${this.steps} steps: arrows move, Enter opens the s\
tep`)}text(t,n){return n.unit==="ns"?g(Math.round(t)):T(String(Math.round(t)))}cellAt(t,n){let e=this.area(),s=Math.floor((t-e.x)/e.w*this.steps),i=Math.floor(n/
e.h*this.ranks);return s>=0&&s<this.steps&&i>=0&&i<this.ranks?{rank:i,step:s}:null}point(t){this.at=t,this.place(this.box,t&&{rank:t.rank,ranks:1,step:t.step,steps:1});
let n=this.cells;if(t===null||n===null)return E();let e=n.values[t.rank*this.steps+t.step],s=n.measure,i=this.head.steps[t.step],r=this.area();R(this.canvas,r.x+
(t.step+.5)/this.steps*r.w,(t.rank+.5)/this.ranks*r.h,{title:`${this.head.ranks[t.rank]}, step ${t.step}, ${i.kind}`,rows:Number.isNaN(e)?[["this rank lacks the\
 step",""]]:[[s.title,this.text(e,s)],["median rank",this.text(n.median[t.step],s)],["beyond it",s.unit==="ns"?H(Math.round(e-n.median[t.step])):this.text(e-n.median[t.
step],s)]]})}listen(){let t=this.canvas,n=null;t.addEventListener("pointerdown",e=>{n=e.offsetX,t.setPointerCapture(e.pointerId)}),t.addEventListener("pointermo\
ve",e=>{let s=this.cellAt(e.offsetX,e.offsetY);if(this.point(s),n===null||Math.abs(e.offsetX-n)<6)return;let i=this.cellAt(Math.min(Math.max(n,q),q+this.area().
w-1),0),r=this.cellAt(Math.min(Math.max(e.offsetX,q),q+this.area().w-1),0);i!==null&&r!==null&&this.place(this.brushed,{rank:0,ranks:this.ranks,step:Math.min(i.
step,r.step),steps:Math.abs(i.step-r.step)+1})}),t.addEventListener("pointerup",e=>{let s=Math.min(Math.max(e.offsetX,q),q+this.area().w-1),i=n===null?null:this.
cellAt(Math.min(Math.max(n,q),q+this.area().w-1),0),r=this.cellAt(s,0);if(n!==null&&Math.abs(e.offsetX-n)>=6&&i!==null&&r!==null)this.events.brush(Math.min(i.step,
r.step),Math.max(i.step,r.step));else{let h=this.cellAt(e.offsetX,e.offsetY);h!==null&&this.events.pick(h.rank,h.step)}n=null}),t.addEventListener("pointerleave",
()=>this.point(null)),t.addEventListener("blur",()=>this.point(null)),t.addEventListener("keydown",e=>{let s=this.at??{rank:0,step:Math.max(this.shownSteps[0],0)},
i={ArrowLeft:{...s,step:Math.max(s.step-1,0)},ArrowRight:{...s,step:this.at===null?s.step:Math.min(s.step+1,this.steps-1)},ArrowUp:{...s,rank:Math.max(s.rank-1,
0)},ArrowDown:{...s,rank:this.at===null?s.rank:Math.min(s.rank+1,this.ranks-1)}};if(i[e.key]!==void 0)this.point(i[e.key]);else if(e.key==="Enter"&&this.at!==null)
this.events.pick(this.at.rank,this.at.step);else if(e.key==="Escape")t.blur();else return;e.preventDefault()})}};function ce(a){return 2**Math.max(0,a-22)}var Et=new Uint32Array(0),Ye=new Uint8Array(0);function Je(a,t){let n=new DataView(a);if(a.byteLength<32||n.getUint32(
0,!1)!==1397969996||n.getUint16(4,!0)!==1)throw new Error("these are no tiles of this version");if(n.getUint32(8,!0)!==t)throw new Error("the server shows anoth\
er capture now: load the page again");let e=n.getUint32(12,!0),s=[];for(let i=0;i<e;i++){let r=32+16*i,h=n.getUint32(r+8,!0),l=n.getUint32(r+12,!0),d=h===0?16:16+
3*512+(18*l+7&-8),p={lane:n.getUint32(r,!0),index:n.getInt32(r+4,!0),bytes:d,strip:null,pieces:l,start:Et,width:Et,span:Et,name:Et,class:Ye,flags:Ye};if(h!==0){
let u=a.slice(h,h+d-16);p.strip={class:new Uint8Array(u,0,512),covered:new Uint8Array(u,512,512),waited:new Uint8Array(u,2*512,512)};let m=c=>new Uint32Array(u,
3*512+4*l*c,l);p.start=m(0),p.width=m(1),p.span=m(2),p.name=m(3),p.class=new Uint8Array(u,3*512+16*l,l),p.flags=new Uint8Array(u,3*512+17*l,l)}s.push(p)}return s}var zn=16,J=40,Rt=class{constructor(t,n,e){this.canvas=t;this.tiles=n;this.ctx=t.getContext("2d",{alpha:!1});let s=e.ranks.map((r,h)=>e.rows.find(l=>l.rank===h&&
l.role==="compute")??e.rows.find(l=>l.rank===h)),i=Math.max(Math.ceil(s.length/zn),1);s.forEach((r,h)=>{r!==void 0&&h%i===0&&this.lanes.push(r.lane)})}canvas;tiles;ctx;ground=document.
createElement("canvas");drawn="";lanes=[];needs(t,n){let e=ot(t,n),[s,i]=kt(t,e);return{level:e,needs:this.lanes.map(r=>({lane:r,from:s,to:i}))}}paint(t,n,e,s){
let{ctx:i,canvas:r}=this,h=window.devicePixelRatio||1,{level:l,needs:d}=this.needs(t,e),p=this.tiles.of(l,!1),m=`${d.flatMap(b=>Array.from({length:b.to-b.from+1},
(v,w)=>p(b.lane,b.from+w))).filter(b=>b!==void 0).length} ${e} ${h} ${s.name("bg")} ${t.t0}`;m!==this.drawn&&(this.drawn=m,r.width=this.ground.width=Math.round(
e*h),r.height=this.ground.height=Math.round(J*h),this.strips(t,s,l,d,p)),i.setTransform(1,0,0,1,0,0),i.drawImage(this.ground,0,0),i.setTransform(h,0,0,h,0,0);let c=(n.
t0-t.t0)/(t.t1-t.t0)*e,f=(n.t1-t.t0)/(t.t1-t.t0)*e;i.fillStyle=s.name("bg"),i.globalAlpha=.6,i.fillRect(0,0,Math.max(c,0),J),i.fillRect(Math.min(f,e),0,e,J),i.globalAlpha=
1,i.strokeStyle=s.name("strong"),i.lineWidth=1.5,i.strokeRect(Math.max(c,0)+.75,.75,Math.max(Math.min(f,e)-Math.max(c,0)-1.5,2),J-1.5)}strips(t,n,e,s,i){let r=this.
ground.getContext("2d",{alpha:!1}),h=this.ground.width,l=this.ground.height,d=r.createImageData(h,l),p=new Uint32Array(d.data.buffer),u=Uint8Array.from([1,3,5].
map(b=>parseInt(n.name("panel").slice(b,b+2),16))),m=l/Math.max(s.length,1),c=(t.t1-t.t0)/h,f=2**e;for(let b=0;b<s.length;b++){for(let v=0;v<h;v++){let w=Math.floor(
(t.t0+(v+.5)*c)/f),y=Math.floor(w/512),k=i(s[b].lane,y)?.strip??null,S=w-y*512,[st,it,Jt]=u;if(k!==null&&k.class[S]!==0){let D=(30+k.covered[S]*.8823529411764706)/
255,Qt=Math.min(k.waited[S]/Math.max(k.covered[S],1),1),[Pe,Ce,qe]=n.strip[k.class[S]],[Ln,_n,Pn]=n.wait;st+=(Pe+(Ln-Pe)*Qt-st)*D,it+=(Ce+(_n-Ce)*Qt-it)*D,Jt+=(qe+
(Pn-qe)*Qt-Jt)*D}let En=255<<24|Math.round(Jt)<<16|Math.round(it)<<8|Math.round(st),_e=Math.round(b*m),Rn=Math.max(Math.round((b+1)*m)-(m>=4?1:0),_e+1);for(let D=_e;D<
Rn;D++)p[D*h+v]=En}if(m>=4){let v=Math.min(Math.round((b+1)*m)-1,l-1),w=255<<24|u[2]<<16|u[1]<<8|u[0];for(let y=0;y<h;y++)p[v*h+y]=w}}r.putImageData(d,0,0)}};var Lt=class{constructor(t){this.canvas=t;this.ctx=t.getContext("2d")}canvas;ctx;paint(t,n){let{ctx:e}=this,s=window.devicePixelRatio||1,i=Math.round(t.width*s),
r=Math.round(t.height*s);this.canvas.width!==i||this.canvas.height!==r?(this.canvas.width=i,this.canvas.height=r):(e.setTransform(1,0,0,1,0,0),e.clearRect(0,0,i,
r)),e.setTransform(s,0,0,s,0,0);let h=t.palette.name("mark"),l=t.palette.name("strong");if(t.range!==null&&this.shade(t,t.range,l),t.collective!==null&&this.collective(
t,t.collective),this.flows(t,h),this.counterparts(t,l),t.selected!==null&&this.outline(t,t.selected,h,2),n.box!==null){let{x0:d,x1:p,lane:u}=n.box;e.strokeStyle=
h,e.lineWidth=1;let m=Math.max(Math.round(d),-2)+.5,c=Math.min(Math.round(p),t.width+2)-.5;e.strokeRect(m,u.y-t.top+.5,Math.max(c-m,1),u.height-1)}n.x>=0&&(e.fillStyle=
h,e.globalAlpha=.35,e.fillRect(Math.round(n.x),0,1,t.height),e.globalAlpha=1)}x(t,n){return(n-t.view.t0)/(t.view.t1-t.view.t0)*t.width}shade(t,n,e){let{ctx:s}=this,
i=Math.max(this.x(t,n.t0),-1),r=Math.min(this.x(t,n.t1),t.width+1);r<=0||i>=t.width||(s.fillStyle=e,s.globalAlpha=.12,s.fillRect(i,0,r-i,t.height),s.globalAlpha=
.9,s.fillRect(Math.round(i),0,1,t.height),s.fillRect(Math.round(r)-1,0,1,t.height),s.globalAlpha=1)}box(t,n){let e=t.lanes.get(n.lane);if(e===void 0||n.span<0)return null;
let{start:s,end:i}=t.place(n);return{x0:this.x(t,s),x1:this.x(t,i),y:e.y-t.top,h:e.height}}outline(t,n,e,s){let i=this.box(t,n);if(i===null||i.x1<-4||i.x0>t.width+
4)return;let{ctx:r}=this,h=Math.max(i.x0,-4),l=Math.min(Math.max(i.x1,i.x0+2),t.width+4);r.strokeStyle=e,r.lineWidth=s,r.strokeRect(h-s/2,i.y-s/2,l-h+s,i.h+s)}counterparts(t,n){
if(t.selected===null||t.counterparts.length===0)return;let{ctx:e}=this,s=[];for(let i of[...t.counterparts,t.selected].sort((r,h)=>(t.lanes.get(r.lane)?.y??0)-(t.
lanes.get(h.lane)?.y??0))){let r=this.box(t,i);r!==null&&s.push({x:r.x0,y:r.y,h:r.h})}e.strokeStyle=n,e.lineWidth=1.5,e.setLineDash([4,3]),e.beginPath(),s.forEach(
(i,r)=>{r===0||e.lineTo(i.x,i.y),e.moveTo(i.x,i.y+i.h)}),e.stroke(),e.setLineDash([]);for(let i of t.counterparts)this.outline(t,i,n,1.5)}flows(t,n){let{ctx:e}=this;
e.strokeStyle=e.fillStyle=n,e.lineWidth=1.25;for(let[s,i]of t.flows){let r=this.box(t,s),h=this.box(t,i);if(r===null||h===null)continue;let l=r.x1,d=r.y+r.h/2,p=h.
x0,u=h.y+h.h/2,m=Math.max(Math.min(Math.abs(p-l)/2,60),12);e.globalAlpha=.8,e.beginPath(),e.moveTo(l,d),e.bezierCurveTo(l+m,d,p-m,u,p,u),e.stroke(),e.beginPath(),
e.moveTo(p,u),e.lineTo(p-6,u-3.5),e.lineTo(p-6,u+3.5),e.fill(),e.globalAlpha=1}}collective(t,n){let{ctx:e}=this,s=t.palette.name("wait"),i=t.palette.name("commu\
nication"),r=n.map(l=>this.box(t,l)).filter(l=>l!==null).sort((l,d)=>l.y-d.y);if(r.length===0)return;let h=this.x(t,t.last);e.lineWidth=1;for(let l=0;l+1<r.length;l++){
let d=r[l],p=r[l+1];e.globalAlpha=.22,e.fillStyle=s,e.beginPath(),e.moveTo(Math.min(d.x0,h),d.y+d.h),e.lineTo(h,d.y+d.h),e.lineTo(h,p.y),e.lineTo(Math.min(p.x0,
h),p.y),e.fill(),e.fillStyle=i,e.beginPath(),e.moveTo(h,d.y+d.h),e.lineTo(Math.max(d.x1,h),d.y+d.h),e.lineTo(Math.max(p.x1,h),p.y),e.lineTo(h,p.y),e.fill()}e.globalAlpha=
1,e.fillStyle=s,e.fillRect(Math.round(h),r[0].y,1,r[r.length-1].y+r[r.length-1].h-r[0].y)}};function Qe(a){return g(Math.round(a.t1-a.t0))}var _t=["bg","attention","gemm","moe","norm","elementwise","communication","copy","sampling","other","t-step","t-range","t-op","t-call","t-launch","t-sync","t-p\
ython","t-profiler","t-nocore","t-other"],tn=4,en=3,me=([a,t,n])=>`rgb(${a},${t},${n})`;function fe([a,t,n]){let e=s=>s<=10?s/255/12.92:((s/255+.055)/1.055)**2.4;
return .2126*e(a)+.7152*e(t)+.0722*e(n)}function be(a,t){let n=fe(a),e=fe(t);return(Math.max(n,e)+.05)/(Math.min(n,e)+.05)}function Q(a){return be(a,[255,255,255])>=
be(a,[17,17,17])?"#ffffff":"#111111"}function Ze(a){let t=Q(a)==="#ffffff"?[0,0,0]:[255,255,255];for(let n=0;;n+=.04){let e=C([a,t],n);if(be(e,Q(a)==="#ffffff"?
[255,255,255]:[17,17,17])>=4.5||n>=1)return e}}function ge(){let a=at(),t=Y(a("bg")),n=fe(t)>.5,e=Ze(Y(a("wait"))),s={fill:[],text:[],strip:[],wait:e,waitFill:[
me(e),me(C([e,t],.3))],waitText:Q(e),name:a};for(let i of _t){let r=Y(a(i)),h=[r,C([r,n?[255,255,255]:[0,0,0]],.16),C([r,n?[0,0,0]:[255,255,255]],.1),C([r,t],.78)].
map(Ze);for(let l of h)s.fill.push(me(l)),s.text.push(Q(l));s.strip.push(C([r,t],.18))}return s}var Dn=448,nn=5e3,sn=600,ve=40,we=class a{static rows=1024;canvas=document.createElement("canvas");ctx;image;pixels;owner=[];used=[];rowOf=new Map;next=0;constructor(){
this.canvas.width=512,this.canvas.height=a.rows,this.ctx=this.canvas.getContext("2d",{willReadFrequently:!0}),this.image=this.ctx.createImageData(512,1),this.pixels=
new Uint32Array(this.image.data.buffer),this.clear()}clear(){this.owner=new Array(a.rows).fill(null),this.used=new Array(a.rows).fill(-1),this.rowOf.clear()}row(t,n,e){
let s=this.rowOf.get(t)??-1;if(s<0){for(;this.used[this.next]===e;)this.next=(this.next+1)%a.rows;s=this.next,this.next=(this.next+1)%a.rows;let i=this.owner[s];
i!==null&&this.rowOf.delete(i),this.owner[s]=t,this.rowOf.set(t,s),this.draw(t,s,n)}return this.used[s]=e,s}draw(t,n,e){let{strip:s}=t,{pixels:i}=this;if(s===null)
return;let[r,h,l]=e.wait;for(let d=0;d<512;d++){let p=s.covered[d],u=s.class[d];if(u===0){i[d]=0;continue}let m=28+Math.round(p*(227/255)),c=s.waited[d]===0?0:Math.
min(s.waited[d]/Math.max(p,1),1),[f,b,v]=e.strip[u]??e.strip[9];i[d]=m<<24|Math.round(v+(l-v)*c)<<16|Math.round(b+(h-b)*c)<<8|Math.round(f+(r-f)*c)}this.ctx.putImageData(
this.image,0,n)}},Pt=class a{static most=65536;x0=new Float32Array(a.most);x1=new Float32Array(a.most);wait=new Float32Array(a.most);lane=new Uint16Array(a.most);color=new Uint8Array(
a.most);class=new Uint8Array(a.most);span=new Uint32Array(a.most);name=new Uint32Array(a.most);n=0},pt=class a{constructor(t,n,e){this.canvas=t;this.tiles=n;this.
names=e;this.ctx=t.getContext("2d",{alpha:!1})}canvas;tiles;names;stats={paints:0,overlays:0,drawImage:0,fillRect:0,fillText:0,tiles:0,missing:0,viewBytes:0,mostImages:0,
mostRects:0,script:[]};ctx;atlas=new we;pieces=new Pt;first=[];scene=null;frame=0;widths=new Map;hatch=null;hatched=null;restyle(){this.atlas.clear()}static needs(t){
let n=ot(t.view,t.width);return{level:n,needs:t.lanes.map(e=>{let s=t.moved[e.rank]??0,[i,r]=kt({t0:t.view.t0-s,t1:t.view.t1-s},n);return{lane:e.lane,from:i,to:r}})}}paint(t){
let{ctx:n,stats:e}=this,s=window.devicePixelRatio||1,i=Math.round(t.width*s),r=Math.round(t.height*s);(this.canvas.width!==i||this.canvas.height!==r)&&(this.canvas.
width=i,this.canvas.height=r),this.scene=t,this.frame++,e.paints++,e.drawImage=e.fillRect=e.fillText=e.tiles=e.missing=e.viewBytes=0,n.setTransform(s,0,0,s,0,0),
n.imageSmoothingEnabled=!1,this.ground(t),this.strips(t),this.spans(t),e.mostImages=Math.max(e.mostImages,e.drawImage),e.mostRects=Math.max(e.mostRects,e.fillRect)}rect(t,n,e,s){
this.stats.fillRect++,this.ctx.fillRect(t,n,e,s)}ground(t){let{ctx:n}=this,{name:e}=t.palette;n.fillStyle=e("bg"),this.rect(0,0,t.width,t.height),n.fillStyle=e(
"panel");for(let i of t.lanes)this.rect(0,i.y-t.top,t.width,i.height);if(t.lines.length===0)return;n.fillStyle=e("line");let s=t.width/(t.view.t1-t.view.t0);for(let i of t.
lines)this.rect(Math.round((i-t.view.t0)*s),0,1,t.height)}strips(t){let{ctx:n,stats:e,pieces:s}=this,{level:i,needs:r}=a.needs(t),h=t.width/(t.view.t1-t.view.t0),
l=512*2**i,d=this.tiles.of(i,t.stretched),p=[1,2,3,4,5,6,8,10].map(u=>({by:u,get:this.tiles.of(i+u,t.stretched)}));s.n=0,this.first.length=0,n.globalAlpha=t.found===
null?1:.35;for(let u=0;u<r.length;u++){let{lane:m,from:c,to:f}=r[u],b=t.lanes[u],v=t.moved[b.rank]??0;this.first.push(s.n);for(let w=c;w<=f&&!(e.drawImage>=Dn);w++){
let y=(w*l+v-t.view.t0)*h,k=l*h,S=d(m,w);if(S===void 0){e.missing++,this.coarse(p,m,w,y,k,b.y-t.top,b.height,t);continue}e.tiles++,e.viewBytes+=S.bytes,S.strip!==
null&&(e.drawImage++,n.drawImage(this.atlas.canvas,0,this.atlas.row(S,t.palette,this.frame),512,1,y,b.y-t.top,k,b.height),this.gather(S,u,y,h*ce(i),h*2**i,i,t))}}
this.first.push(s.n),n.globalAlpha=1}coarse(t,n,e,s,i,r,h,l){for(let{by:d,get:p}of t){let u=2**d,m=p(n,Math.floor(e/u));if(m===void 0)continue;if(m.strip===null)
return;let c=512/u,f=(e-Math.floor(e/u)*u)*c;this.stats.drawImage++,this.ctx.drawImage(this.atlas.canvas,f,this.atlas.row(m,l.palette,this.frame),c,1,s,r,i,h);return}}gather(t,n,e,s,i,r,h){
let l=this.pieces,d=ce(r)/2**r;for(let p=0;p<t.pieces&&l.n<Pt.most;p++){let u=e+t.start[p]*s,m=u+t.width[p]*s,c=u;if((t.flags[p]&8)!==0&&t.strip!==null){let w=Math.
floor(t.start[p]*d),y=Math.min(Math.ceil((t.start[p]+t.width[p])*d),512),k=w+ +(w<y&&t.strip.waited[w]>0);for(;k>w&&k<y&&t.strip.waited[k]>=128;)k++;k>w&&(c=Math.
min(e+k*i,m))}let f=l.n-1;if((t.flags[p]&1)!==0&&f>=this.first[n]&&l.span[f]===t.span[p]){c>u&&(l.wait[f]=c),l.x1[f]=m;continue}let b=t.name[p],v=t.class[p];l.x0[l.
n]=u,l.x1[l.n]=m,l.wait[l.n]=c,l.lane[l.n]=n,l.class[l.n]=v,l.color[l.n]=v*tn+(h.found!==null&&!h.found.has(b)?en:b*7%3),l.span[l.n]=t.span[p],l.name[l.n]=b,l.n++}}threshold(t,n){
let e=this.pieces,{width:s}=this.scene;if(e.n<=t)return n;let i=new Uint32Array(256),r=0;for(let h=0;h<e.n;h++)e.x1[h]<=0||e.x0[h]>=s||i[Math.min(Math.floor(e.x1[h]-
e.x0[h]),255)]++;for(let h=255;h>=0;h--)if(r+=i[h],r>t)return Math.max(h+1,n);return n}spans(t){let{ctx:n,pieces:e}=this,s=nn-this.stats.fillRect,i=this.threshold(
Math.floor(s*.8),0),r=[],h=[];for(let l=0;l<e.n;l++)e.x1[l]-e.x0[l]<i||e.x1[l]<=0||e.x0[l]>=t.width||((r[e.color[l]]??=[]).push(l),e.wait[l]>e.x0[l]&&h.push(l));
if(r.forEach((l,d)=>{n.fillStyle=t.palette.fill[d];for(let p of l){let u=t.lanes[e.lane[p]],m=Math.max(Math.round(e.x0[p]),-2),c=Math.min(Math.round(e.x1[p]),t.
width+2);this.rect(m,u.y-t.top,Math.max(c-m-(c-m>3?1:0),1),u.height)}}),h.length>0){n.fillStyle=this.hatching(t.palette);for(let l of h.slice(0,Math.max(nn-this.
stats.fillRect,0))){let d=t.lanes[e.lane[l]],p=Math.max(Math.round(e.x0[l]),-2),u=Math.min(Math.round(e.wait[l]),t.width+2);(t.found===null||t.found.has(e.name[l]))&&
this.rect(p,d.y-t.top,Math.max(u-p,1),d.height)}}this.labels(t,i)}labels(t,n){let{ctx:e,pieces:s}=this,i=Math.max(this.threshold(sn,ve),ve,n);e.font="11px syste\
m-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",e.textBaseline="middle",e.textAlign="left";let r="";for(let h=0;h<s.n;h++){if(s.x1[h]-s.x0[h]<i||this.stats.
fillText>=sn)continue;let l=s.x0[h],d=s.x1[h],p=t.palette.text[s.color[h]];s.wait[h]>l&&(s.wait[h]-Math.max(l,0)>Math.min(d,t.width)-s.wait[h]?(d=s.wait[h],p=t.
palette.waitText):l=s.wait[h]),l=Math.max(l,0),d=Math.min(d,t.width);let u=d-l-7;if(u<ve-10)continue;let m=this.fit(this.names.get(s.name[h]),u);if(m==="")continue;
p!==r&&(e.fillStyle=r=p);let c=t.lanes[s.lane[h]];this.stats.fillText++,e.fillText(m,l+4,c.y-t.top+c.height/2+.5)}}fit(t,n){if(t==="")return"";let e=this.widths.
get(t);if(e===void 0&&(this.widths.size>2e4&&this.widths.clear(),e=this.ctx.measureText(t).width,this.widths.set(t,e)),e<=n)return t;let s=Math.floor(t.length*(n-
9)/e);return s<2?"":t.slice(0,s)+"…"}hatching(t){if(this.hatched!==t){let n=document.createElement("canvas"),e=n.getContext("2d");n.width=n.height=6,e.fillStyle=
t.waitFill[0],e.fillRect(0,0,6,6),e.strokeStyle=t.waitFill[1],e.lineWidth=1.5,e.beginPath();for(let s of[-6,0,6])e.moveTo(s,6),e.lineTo(s+6,0);e.stroke(),this.hatch=
this.ctx.createPattern(n,"repeat"),this.hatched=t}return this.hatch??t.waitFill[0]}hit(t,n){let e=this.scene;if(e===null)return null;for(let s=0;s<e.lanes.length;s++){
let i=e.lanes[s];if(n<i.y-e.top||n>=i.y-e.top+i.height+1)continue;let r=this.pieces,h=this.first[s],l=this.first[s+1];for(;h<l;){let d=h+l>>1;r.x1[d]<=t?h=d+1:l=
d}return h<this.first[s+1]&&r.x0[h]<=t?{lane:i,span:r.span[h],name:r.name[h],class:r.class[h],x0:r.x0[h],x1:r.x1[h]}:i}return null}classAt(t,n){let e=this.scene,
s=ot(e.view,e.width),i=e.view.t0+n/e.width*(e.view.t1-e.view.t0)-(e.moved[t.rank]??0),r=512*2**s,h=this.tiles.of(s,e.stretched)(t.lane,Math.floor(i/r));if(h?.strip==
null)return{class:0,covered:0};let l=Math.floor((i-h.index*r)/2**s);return{class:h.strip.class[l],covered:h.strip.covered[l]/255}}};var Fn={outside:"it belongs to no step, so nothing says which of this rank is its like",no_step:"the file of this rank does not have the step",none_such:"this r\
ank ran nothing like it there",too_many:"the kernels differ over so long a stretch that nothing is sure",apart:"this rank shares no collectives with the other: \
its steps are others"};function Ct(a){let t=o("i",{class:"tl-swatch"});return t.style.background=`var(--${_t[a]??"other"})`,t}var qt=class{constructor(t,n){this.
head=t;this.events=n}head;events;el=o("section",{class:"tl-panel","aria-label":"Details",tabindex:"0",hidden:!0});hide(){this.el.hidden=!0,x(this.el)}open(t,...n){
this.el.hidden=!1,x(this.el,o("div",{class:"tl-panel-head"},...t,o("span",{class:"space"}),o("button",{class:"quiet",title:"Close (key: Escape)","aria-label":"C\
lose the details",on:{click:()=>this.events.close()}},"✕")),o("div",{class:"tl-panel-body"},...n))}link(t,n=t.label){return o("button",{class:"tl-link",title:t.
label,on:{click:()=>this.events.go(t)}},n)}span(t){let n=[["rank",this.head.ranks[t.rank]],["start",g(t.start_ns)],["duration",g(t.dur_ns)]];t.wait_ns>0&&n.push(
["waits for others",g(t.wait_ns)]),t.last>=0&&n.push(["last to come",this.head.ranks[t.last]+(t.last===t.rank?", this one":"")]),t.step>=0&&n.push(["step",`${t.
step}${t.step_name?", "+t.step_name:""}`]),t.layer!==""&&n.push(["layer",t.layer]),t.launch!==null&&n.push(["launched by",this.link(t.launch)],["launch delay",g(
t.delay_ns)]),t.launches>0&&n.push(["launched",`${T(String(t.launches))} on the GPU`],["launch delay",g(t.delay_ns)]);let e=t.name!==t.label&&o("p",{class:"tl-f\
ull"},t.name);this.open([Ct(t.class),o("h2",null,t.label),o("span",{class:"tl-soft"},t.category)],o("div",{class:"tl-facts"},e,rn(n),t.args.length>0&&rn(t.args.
map(s=>[s.name,s.value]))),t.counterparts.length>0&&this.counterparts(t),(t.around.length>0||t.launched.length>0)&&o("div",{class:"tl-around"},t.launched.length>
0&&o("h3",null,"It launched"),t.launched.length>0&&o("ol",null,...t.launched.map(s=>o("li",null,this.link(s),o("span",{class:"tl-soft"}," "+g(s.dur_ns)))),t.launches>
t.launched.length&&o("li",{class:"tl-soft"},`and ${t.launches-t.launched.length} more`)),t.around.length>0&&o("h3",null,t.launch?"The launch is in":"It is in"),
t.around.length>0&&o("ol",null,...t.around.map(s=>o("li",null,this.link(s),o("span",{class:"tl-soft"}," "+g(s.dur_ns)))))))}counterparts(t){let n=Math.max(t.dur_ns,
...t.counterparts.map(u=>u.why===""?u.dur_ns:0),1),e=u=>{let m=o("span",{class:"tl-bar"});return m.style.width=u/n*90+"px",m.style.background=`var(--${_t[t.class]??
"other"})`,m},s=t.counterparts.some(u=>u.delays),i=t.counterparts.some(u=>u.grid!==""),r=t.args.find(u=>u.name==="grid")?.value??"",h=u=>u.why!==""?o("tr",{class:"\
tl-none"},o("th",{scope:"row"},this.head.ranks[u.rank]),o("td",{colspan:String(3+Number(i)+Number(s))},"none: "+(Fn[u.why]??u.why))):o("tr",{data:{rank:String(u.
rank),span:String(u.span)}},o("th",{scope:"row"},this.link(u,this.head.ranks[u.rank])),o("td",null,e(u.dur_ns)," "+g(u.dur_ns)),o("td",{class:"r"},H(u.longer_ns)),
o("td",{class:"r"},H(u.later_ns)),i&&o("td",{class:u.grid!==r?"tl-differs":""},u.grid+(u.other?" · another kernel: "+u.label:"")),s&&o("td",{class:"r"},u.delays?
H(u.delayed_ns):"")),l=o("tr",{class:"selected"},o("th",{scope:"row"},this.head.ranks[t.rank]),o("td",null,e(t.dur_ns)," "+g(t.dur_ns)),o("td",null),o("td",null),
i&&o("td",null,r),s&&o("td",null)),p=[...t.counterparts.map(u=>[u.rank,h(u)]),[t.rank,l]].sort((u,m)=>u[0]-m[0]).map(([,u])=>u);return o("div",{class:"tl-counte\
rparts"},o("h3",null,"The same on every rank"),o("table",null,o("thead",null,o("tr",null,o("th",{scope:"col"},"rank"),o("th",{scope:"col"},"duration"),o("th",{scope:"\
col",class:"r"},"longer by"),o("th",{scope:"col",class:"r"},"starts later by"),i&&o("th",{scope:"col"},"grid"),s&&o("th",{scope:"col",class:"r"},"launch delay"))),
o("tbody",null,...p)))}range(t,n,e){let s=[{id:"name",title:"name",key:l=>l.name,text:l=>[Ct(l.class),this.link(l.longest,l.name)],right:!1},{id:"count",title:"\
count",key:l=>l.count,text:l=>T(String(l.count)),right:!0},{id:"self",title:"self time",key:l=>l.self_ns,text:l=>g(l.self_ns),right:!0},{id:"total",title:"total",
key:l=>l.total_ns,text:l=>g(l.total_ns),right:!0},{id:"wait",title:"waiting",key:l=>l.wait_ns,text:l=>l.wait_ns>0?g(l.wait_ns):"",right:!0},{id:"max",title:"lon\
gest",key:l=>l.max_ns,text:l=>g(l.max_ns),right:!0},{id:"spread",title:"least to most rank",key:l=>l.most_ns-l.least_ns,text:l=>n>1&&l.most>=0?`${g(l.least_ns)}\
 (${this.head.ranks[l.least]}) – ${g(l.most_ns)} (${this.head.ranks[l.most]})`:"",right:!0}],i=e.startsWith("-"),r=s.find(l=>l.id===e.replace(/^-/,""))??s[2],
h=t.sums.slice().sort((l,d)=>{let p=r.key(l),u=r.key(d),m=typeof p=="string"?p.localeCompare(String(u),"en"):p-Number(u);return i?-m:m});this.open([o("h2",null,
g(t.to_ns-t.from_ns)),o("span",{class:"tl-soft"},`from ${g(t.from_ns)}: what the rows that are shown hold`)],o("div",{class:"table tl-range"},h.length===0?o("p",
{class:"tl-soft"},"Nothing begins, runs or ends here on the rows that are shown."):o("table",null,o("thead",null,o("tr",null,...s.map(l=>o("th",{scope:"col",class:l.
right?"r":"","aria-sort":l===r?i?"descending":"ascending":null},o("button",{on:{click:()=>this.events.sort(l===r&&i?l.id:"-"+l.id)}},l.title,l===r&&o("span",{"a\
ria-hidden":"true"},i?" ▾":" ▴")))))),o("tbody",null,...h.map(l=>o("tr",null,...s.map(d=>{let p=d.text(l),u=o("td",{class:d.right?"r":"name"});return Array.
isArray(p)?u.append(...p):x(u,p),u}))))),t.all>h.length&&o("p",{class:"tl-soft"},`${T(String(t.all-h.length))} more names, each with less self time, are left ou\
t.`)))}found(t,n){this.open([o("h2",null,t.all===0?`No name holds “${n}”`:`${T(String(t.spans))} spans of ${T(String(t.all))} name${t.all===1?"":"s"}, ${g(t.
total_ns)}`),o("span",{class:"tl-soft"},t.all===0?"on the rows that are shown":"n and N go to the next and the one before")],t.names.length>0&&o("div",{class:"t\
able tl-range"},o("table",null,o("thead",null,o("tr",null,o("th",{scope:"col"},"name"),o("th",{scope:"col",class:"r"},"spans"),o("th",{scope:"col",class:"r"},"t\
otal"))),o("tbody",null,...t.names.map(e=>o("tr",null,o("td",{class:"name"},this.link(e.first,e.name)),o("td",{class:"r"},T(String(e.count))),o("td",{class:"r"},
g(e.total_ns))))))))}};function rn(a){return o("dl",null,...a.flatMap(([t,n])=>[o("dt",null,t),o("dd",null,n)]))}var _=18,z=18,an=24;function Un(a,t){let n=[[1e9,"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]],[e,s]=n.find(([r])=>Math.abs(a)>=r&&t>=r/1e6)??n.find(([r])=>t>=r)??n[3],
i=Math.min(Math.max(-Math.floor(Math.log10(t/e)+1e-9),0),6);return(a/e).toFixed(i)+" "+s}function Nt(a,t){let n=0;for(;n<a.length&&(a[n].end_ns===0||a[n].end_ns<=
t.t0);)n++;let e=n;for(;e<a.length&&(a[e].end_ns===0||a[e].start_ns<t.t1);)e++;return[n,e]}var N=class{constructor(t){this.canvas=t;this.ctx=t.getContext("2d",{
alpha:!1})}canvas;ctx;static height(t){return _+(t.wall?z:0)+(t.wall&&t.ribbons?an:0)}paint(t,n){let{ctx:e}=this,s=window.devicePixelRatio||1;this.canvas.width=
Math.round(t.width*s),this.canvas.height=Math.round(n*s),e.setTransform(s,0,0,s,0,0),e.fillStyle=t.palette.name("bg"),e.fillRect(0,0,t.width,n),e.font="11px sys\
tem-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",e.textBaseline="middle",this.ticks(t),t.wall&&(this.steps(t),n>_+z&&this.ribbons(t))}x(t,n){return(n-t.view.
t0)/(t.view.t1-t.view.t0)*t.width}ticks(t){let{ctx:n}=this,{step:e,first:s}=Ue(t.view,t.width,110);n.textAlign="left";for(let i=0;i<100;i++){let r=s+i*e,h=Math.
round(this.x(t,r));if(h>t.width)break;n.fillStyle=t.palette.name("line"),n.fillRect(h,4,1,_-4),n.fillStyle=t.palette.name("soft");let l=Un(r,e);h+4+l.length*6.5<
t.width&&n.fillText(l,h+4,_/2+1)}}steps(t){let{ctx:n}=this,[e,s]=Nt(t.steps,t.view);n.textAlign="left";let i=Math.max(Math.ceil((s-e)/(t.width/2)),1);for(let r=e;r<
s;r+=i){let h=t.steps[r];if(h.end_ns===0)continue;let l=t.steps[r+1],d=l!==void 0&&l.end_ns!==0?Math.min(h.end_ns,l.start_ns):h.end_ns,p=Math.max(Math.round(this.
x(t,h.start_ns)),-2),u=Math.min(Math.round(this.x(t,d)),t.width+2),m=Math.max(u-p-(u-p>3?1:0),1),c=t.palette.name(h.slow?"high":ut(h.kind));n.fillStyle=c,n.globalAlpha=
r===t.picked?1:.3,n.fillRect(p,_,m,z-2),n.globalAlpha=1,n.fillRect(p,_+z-4,m,2);let f=String(r),b=m>30+6.5*(h.kind.length+6)?`step ${f} · ${h.kind}${h.slow?" ·\
 slow":""}`:f;m<b.length*6.5+6||(n.fillStyle=r===t.picked?Q(jn(c)):t.palette.name("text"),n.fillText(b,Math.max(p,0)+4,_+z/2-1))}}ribbons(t){let{ctx:n}=this,e=_+
z+2,s=an-6;for(let i of t.ribbons){let r=this.x(t,i.first_ns),h=this.x(t,i.last_ns),l=this.x(t,i.end_ns);if(l<0||r>t.width||(n.fillStyle=t.palette.name("communi\
cation"),n.fillRect(h,e+s-4,Math.max(l-h,1),4),h-r<.75))continue;n.fillStyle=t.palette.name("wait");let d=i.arrivals_ns.length;for(let p=0;p+1<d;p++){let u=this.
x(t,i.arrivals_ns[p]),m=this.x(t,i.arrivals_ns[p+1]),c=(p+1)/d,f=Math.max(c*s,2);m>u&&n.fillRect(u,e+s-f,Math.max(m-u,.5),f)}n.fillRect(Math.round(h)-1,e,1.5,s)}}static ribbonAt(t,n,e){
if(!t.wall||e<_+z)return null;let s=t.view.t0+n/t.width*(t.view.t1-t.view.t0),i=(t.view.t1-t.view.t0)/t.width*3,r=null;for(let h of t.ribbons)s>=h.first_ns-i&&s<=
h.end_ns+i&&(r===null||h.wait_ns>r.wait_ns)&&(r=h);return r}static stepAt(t,n,e){return!t.wall||e<_||e>=_+z?-1:Ht(t.steps,t.view.t0+n/t.width*(t.view.t1-t.view.
t0))}};function Ht(a,t){let n=-1;return a.forEach((e,s)=>{e.end_ns!==0&&e.start_ns<=t&&t<e.end_ns&&(n=s)}),n}function on(a,t){return{title:a.op+(a.step>=0?`, st\
ep ${a.step}`:""),rows:[["last to come",t],["first waits for it",g(a.last_ns-a.first_ns)],["waited, all ranks",g(a.wait_ns)],["then until all have left",g(a.end_ns-
a.last_ns)],["ranks",String(a.ranks)]]}}function jn(a){return[1,3,5].map(t=>parseInt(a.slice(t,t+2),16))}function Kn(a,t,n){let e=[],s=0;for(let i of a){let{from:r,to:h}=i;for(;r<=h&&t(i.lane,r);)r++;for(;h>=r&&t(i.lane,h);)h--;if(h=Math.min(h,r+n-s-1),h<r)continue;
s+=h-r+1;let l=e[e.length-1];l!==void 0&&l.last===i.lane-1&&l.from===r&&l.to===h?l.last=i.lane:e.push({first:i.lane,last:i.lane,from:r,to:h})}return e.map(i=>`${i.
first}-${i.last}@${i.from}_${i.to}`).join(";")}var ln=4e3,$t=class a{constructor(t,n,e){this.epoch=t;this.ask=n;this.arrived=e}epoch;ask;arrived;levels=new Map;loading=!1;failed=new Set;received=0;requests=0;static key(t,n){
return t*2**32+(n+2**31)}at(t,n){let e=(n?"s":"w")+t,s=this.levels.get(e);return s===void 0?s=new Map:this.levels.delete(e),this.levels.set(e,s),s}of(t,n){let e=this.
levels.get((n?"s":"w")+t);return e===void 0?()=>{}:(s,i)=>e.get(a.key(s,i))}add(t,n,e){let s=this.at(t,n);for(let i of Je(e,this.epoch))s.set(a.key(i.lane,i.index),
i);this.received+=e.byteLength}levelsOf(t){return[...this.levels.keys()].filter(n=>n.startsWith(t?"s":"w")).map(n=>Number(n.slice(1)))}load(t,n,e){if(this.loading||
this.ask===null)return;let s=this.of(n,e),i=Kn(t,(h,l)=>s(h,l)!==void 0,448),r=`${n} ${e} ${i}`;i===""||this.failed.has(r)||(this.loading=!0,this.requests++,this.
ask(n,e,i).then(h=>{this.add(n,e,h),this.forget()},h=>{throw this.failed.add(r),h}).finally(()=>{this.loading=!1,this.arrived()}))}forget(){let t=0;for(let n of this.
levels.values())t+=n.size;for(let[n,e]of this.levels){if(t<=ln)return;if(this.levels.size===1)break;t-=e.size,this.levels.delete(n)}for(let n of this.levels.values())
for(let e of n.keys()){if(t<=ln)return;n.delete(e),t--}}kept(){let t=0;for(let n of this.levels.values())t+=n.size;return t}},Ot=class{constructor(t,n,e){this.size=
t;this.ask=n;this.arrived=e}size;ask;arrived;blocks=new Map;get(t){let n=Math.floor(t/this.size),e=this.blocks.get(n);return e===void 0&&(this.blocks.set(n,null),
this.ask(n).then(s=>{this.blocks.set(n,s),this.arrived()})),e?.[t-n*this.size]??""}};var Xn=200,xe=class{constructor(t,n){this.context=t;this.head=n;this.all=ht(n),this.state=le(t.store.params,n);let e=t.store.params.c;this.tiles=new $t(n.epoch,
(i,r,h)=>ne("timeline/tiles",{c:e,level:i,axis:r?"stretched":null,tiles:h}),()=>this.draw("lanes")),this.names=new Ot(n.block,i=>M("timeline/names",{c:e,block:i}),
()=>this.draw("lanes")),this.painter=new pt(o("canvas",{class:"lanes",role:"img","aria-label":"Spans of all rows"}),this.tiles,this.names),this.minimap=new Rt(o(
"canvas",{role:"img","aria-label":"The whole capture"}),this.tiles,n),this.heat=new At(n,{load:i=>ne("timeline/heat",{c:e,measure:i}),choose:i=>t.store.set({heat:i}),
pick:(i,r)=>this.compare(i,r),brush:(i,r)=>this.look(V(n,i,r),"push")},()=>this.draw("heat")),this.panel=new qt(n,{go:i=>this.go(i),find:i=>t.store.set({q:i}),sort:i=>t.
store.set({sort:i}),close:()=>this.clear()});let s=o("div",{class:"tl-stage"},this.painter.canvas,this.strips,this.overlay.canvas);this.spacer.append(this.gutter,
s),this.body.append(this.spacer),this.el.append(this.tools,this.heat.el,o("div",{class:"tl-above tl-mini"},o("div",{class:"legend"},"whole capture"),this.minimap.
canvas),o("div",{class:"tl-above tl-rule"},this.legend,this.ruler.canvas),this.body,this.panel.el,this.classes),this.listen(),this.bind(),this.watch=new ResizeObserver(
()=>this.draw("lanes","heat","gutter")),this.watch.observe(this.body),this.apply(t.store.params,null),window.__stats=Object.assign(this.painter.stats,{received:()=>this.
tiles.received,requests:()=>this.tiles.requests,kept:()=>this.tiles.kept(),idle:()=>rt()&&this.frame===0,look:i=>{let r=n.steps[n.steps.length-1]??{start_ns:this.
all.t0,end_ns:this.all.t1};this.look(i((r.start_ns+r.end_ns)/2))}})}context;head;el=o("div",{class:"tl"});all;state;palette=ge();plan={groups:[],lanes:[],height:0};alignment=null;found=null;selected=null;ribbons=[];parts=null;moved=new Map;pointer={
x:-1,y:-1,box:null};dirty=new Set;frame=0;timer=0;settle=0;rested=()=>{};settled="";written=()=>{};watch;tiles;names;painter;overlay=new Lt(o("canvas",{class:"o\
verlay"}));ruler=new N(o("canvas",{role:"img","aria-label":"Time, steps and collectives"}));minimap;heat;panel;gutter=o("div",{class:"tl-gutter"});strips=o("can\
vas",{class:"tl-strips"});spacer=o("div",{class:"tl-spacer"});body=o("div",{class:"tl-body",tabindex:"0",role:"region","aria-label":"Rows of all ranks"});search=o(
"input",{type:"search",placeholder:"Search names  /","aria-label":"Search names of spans"});length=o("span",{class:"length",title:"How much time is shown"});tools=o(
"div",{class:"tl-tools"});legend=o("div",{class:"legend"});classes=o("p",{class:"tl-classes","aria-label":"Colours"});get width(){return Math.max(this.body.clientWidth-
Xn,50)}get c(){return this.context.store.params.c}update(t,n){this.apply(t,n)}apply(t,n){let e=this.state=le(t,this.head),s=(...i)=>n===null||i.some(r=>t[r]!==n[r]);
s("only","open")&&(this.plan=Tt(this.head,e.open,e.only),this.spacer.style.height=this.plan.height+"px",this.colours()),s("y","only","open")&&Math.abs(this.body.
scrollTop-e.y)>1&&(this.body.scrollTop=e.y),s("align","step","at")&&(n===null||e.by!==this.alignment?.by||e.by!=="wall")&&this.align(),s("heat")&&this.heat.show(
e.heat).then(()=>this.draw("heat")),s("q")&&this.seek(),s("rank","sel")&&(n===null||this.selected?.rank!==e.rank||this.selected?.span!==e.sel)&&this.select(),s(
"r0","r1","only","open","align","step","at","sort")&&e.sel<0&&this.sum(),this.draw("lanes","overlay","gutter","heat"),this.toolbar()}align(){let{by:t,step:n,at:e}=this.
state,s={c:this.c,align:t,step:t==="step"?n:null,at:t==="collective"?e:null};M("timeline/align",s).then(i=>{this.state.by===i.by&&(this.alignment=i,this.settled=
"",this.draw("lanes","overlay","gutter"))})}seek(){let{q:t}=this.state;if(this.search.value!==t&&document.activeElement!==this.search&&(this.search.value=t),t===
""){this.found!==null&&this.state.sel<0&&this.state.range===null&&this.panel.hide(),this.found=null;return}M("timeline/search",{c:this.c,q:t,rows:this.rows(),after:Math.
round(this.state.view.t0)}).then(n=>{this.state.q===t&&(this.found=n,this.state.sel<0&&this.state.range===null&&this.panel.found(n,t),this.draw("lanes"))})}select(){
let{rank:t,sel:n}=this.state;if(n<0){this.selected=null,this.state.range===null&&(this.found!==null?this.panel.found(this.found,this.state.q):this.panel.hide());
return}M("timeline/span",{c:this.c,rank:t,span:n}).then(e=>{this.state.rank!==t||this.state.sel!==n||(this.selected=e,this.panel.span(e),this.draw("overlay","la\
nes"))})}sum(){let{range:t,by:n,step:e,at:s,sort:i}=this.state;if(t===null){this.found===null&&this.panel.hide();return}let r={c:this.c,from:t.t0,to:t.t1,rows:this.
rows(),align:n,step:n==="step"?e:null,at:n==="collective"?s:null};M("timeline/range",r).then(h=>{this.state.range?.t0!==t.t0||this.state.range.t1!==t.t1||this.state.
sel>=0||(this.panel.range(h,this.plan.groups.length,i),this.draw("overlay","lanes"))})}rows(){return this.plan.groups.flatMap(t=>t.rows.map(n=>n.row)).join(",")}clear(){
this.context.store.set({sel:null,r0:null,r1:null}),this.panel.hide()}look(t,n="replace",e={}){if(t!==null){if(this.state.view=t,this.draw("lanes","overlay"),n===
"push"||Object.keys(e).length>0){this.state.y=this.body.scrollTop,this.context.store.set({...this.place(),...e},n);return}this.write()}}place(){return{t0:Math.round(
this.state.view.t0),t1:Math.round(this.state.view.t1),y:Math.round(this.body.scrollTop)||null}}write(){clearTimeout(this.timer),this.written(),W(new Promise(t=>this.
written=t)),this.timer=window.setTimeout(()=>{let t=this.state.view;this.context.store.set(this.place()),this.state.view=t,this.written()},250)}zoom(t,n=this.pointer.
x>=0?this.pointer.x:this.width/2){this.look(Fe(this.state.view,this.time(n),t,this.all))}pan(t){this.look(oe(this.state.view,t,this.all))}time(t){return this.state.
view.t0+t/this.width*(this.state.view.t1-this.state.view.t0)}shown(t){if(this.state.by==="stretched")return{start:t.stretched_ns[0],end:t.stretched_ns[1]};let n=this.
alignment?.moved_ns[t.rank]??0;return{start:t.start_ns+n,end:t.start_ns+n+t.dur_ns}}go(t,n="push",e=!1){let s={rank:t.rank,sel:t.span,r0:null,r1:null},i=this.state.
only;i.length>0&&!i.includes(t.rank)&&(i=[]);let r=new Set(this.state.open),h=this.head.rows.findIndex(f=>t.lane>=f.lane&&t.lane<f.lane+f.lanes),l=()=>Tt(this.head,
r,i).lanes.find(f=>f.lane===t.lane);h>=0&&l()===void 0&&!this.head.rows[h].pinned&&r.add("r"+t.rank),h>=0&&l()===void 0&&r.add(String(h));let d=l(),{start:p,end:u}=this.
shown(t),m=Mt(this.state.view,p,u-p,this.all,e),c=this.body.scrollTop;d!==void 0&&(d.y<c+20||d.y>c+this.body.clientHeight-40)&&(c=Math.max(d.y-this.body.clientHeight/
3,0)),this.spacer.style.height=Tt(this.head,r,i).height+"px",this.body.scrollTop=c,this.look(m,n,{...s,open:[...r].join(",")||null,only:i.join(",")||null,y:Math.
round(c)||null})}compare(t,n){let e=this.heat.cells,s=e===null?-1:Ge(e.values,this.head.ranks.length,this.head.steps.length,n),i=s<0||s===t?[t]:[t,s];this.body.
scrollTop=0,this.look(V(this.head,n,n),"push",{only:i.join(","),align:"step",step:n,rank:t,sel:null,r0:null,r1:null,at:null,y:null})}cycle(){let t=St.filter(e=>e.
by!=="stretched"||this.head.stretch),n=t.findIndex(e=>e.by===this.state.by);this.choose(t[(n+1)%t.length].by)}choose(t){let n=Math.round((this.state.view.t0+this.
state.view.t1)/2),{steps:e}=this.head,s=this.state.step>=0?this.state.step:Math.max(Ht(e,n),0),i=this.selected!==null&&this.selected.last>=0?this.selected.start_ns:
n;this.look(this.state.view,"push",{align:t==="wall"?null:t,step:t==="step"?s:this.context.store.params.step??null,at:t==="collective"?i:null})}nextStep(t){let n=(this.
state.view.t0+this.state.view.t1)/2,e=this.state.step>=0?this.state.step:Ht(this.head.steps,n),s=Math.min(Math.max(e+t,0),this.head.steps.length-1);this.look(V(
this.head,s,s),"replace",{step:s})}async nextFound(t){if(this.state.q==="")return;let n=this.selected!==null?this.selected.start_ns:Math.round(t?this.state.view.
t1:this.state.view.t0),e=await M("timeline/search",{c:this.c,q:this.state.q,rows:this.rows(),after:n,back:t?1:null});e.next!==null&&this.go(e.next,"replace")}async beside(t){
let n=this.selected,e=n!==null?await M("timeline/beside",{c:this.c,rank:n.rank,span:n.span,back:t?1:null}):await this.first();e!==null&&this.go(e,"replace")}async first(){
for(let t of de(this.plan.lanes,this.body.scrollTop,this.body.scrollTop+this.body.clientHeight)){let n=await this.ask(t,this.state.view.t0,this.state.view.t1);if(n!==
null)return n}return null}async lanesAway(t){let n=this.selected;if(n===null)return void(this.body.scrollTop+=t*48);let{lanes:e}=this.plan;for(let s=e.findIndex(
i=>i.lane===n.lane)+t;s>=0&&s<e.length;s+=t){let{start:i,end:r}=this.shown(n),h=await this.ask(e[s],i,Math.max(r,i+1));if(h!==null)return this.go(h,"replace")}}ask(t,n,e){
let s=this.alignment?.moved_ns[t.rank]??0;return M("timeline/hit",{c:this.c,lane:t.lane,from:Math.floor(n-s),to:Math.ceil(Math.max(e-s,n-s+1)),axis:this.state.by===
"stretched"?"stretched":null})}counterpart(t){let n=this.selected;if(n===null)return;let e=n.counterparts.filter(r=>r.span>=0),s=e.filter(r=>t>0?r.rank>n.rank:r.
rank<n.rank),i=t>0?s[0]??e[0]:s[s.length-1]??e[e.length-1];i!==void 0&&this.go(i,"replace")}bind(){let{keys:t,store:n}=this.context,e="Timeline";t.bind("w +",e,
"zoom in",()=>this.zoom(.75)),t.bind("s -",e,"zoom out",()=>this.zoom(1/.75)),t.bind("a ArrowLeft",e,"to the left",()=>this.pan(-.1)),t.bind("d ArrowRight",e,"t\
o the right",()=>this.pan(.1)),t.bind("0 Home",e,"the whole capture",()=>this.look(lt(this.all))),t.bind("f",e,"what is selected as wide as the view",()=>{this.
selected!==null?this.go(this.selected,"replace",!0):this.state.range!==null&&this.look(Mt(this.state.view,this.state.range.t0,this.state.range.t1-this.state.range.
t0,this.all,!0))}),t.bind("m",e,"sum up what runs during the selected span",()=>{if(this.selected===null)return;let{start:s,end:i}=this.shown(this.selected);n.set(
{r0:Math.round(s),r1:Math.round(Math.max(i,s+1)),sel:null},"push")}),t.bind("[",e,"the step before",()=>this.nextStep(-1)),t.bind("]",e,"the next step",()=>this.
nextStep(1)),t.bind(".",e,"select the next span of the lane",()=>{this.beside(!1)}),t.bind(",",e,"and the one before",()=>{this.beside(!0)}),t.bind("ArrowDown",
e,"select in the lane below",()=>{this.lanesAway(1)}),t.bind("ArrowUp",e,"and in the lane above",()=>{this.lanesAway(-1)}),t.bind("c",e,"to the counterpart on t\
he next rank",()=>this.counterpart(1)),t.bind("C",e,"and on the rank before",()=>this.counterpart(-1)),t.bind("A",e,"align ranks another way",()=>this.cycle()),
t.bind("h",e,"show or hide the map of ranks and steps",()=>n.set({heat:this.state.heat==="off"?"work":"off"})),t.bind("H",e,"another measure of the map",()=>{let s=this.
head.measures.findIndex(i=>i.id===this.state.heat);n.set({heat:this.head.measures[(s+1)%this.head.measures.length].id})}),t.bind("u",e,"unfold or fold all rows \
of the rank",()=>this.turn("r"+Math.max(this.state.rank,0))),t.bind("r",e,"all ranks again",()=>n.set({only:null})),t.bind("/",e,"search names",()=>this.search.
focus()),t.bind("n",e,"the next span that was found",()=>{this.nextFound(!1)}),t.bind("N",e,"and the one before",()=>{this.nextFound(!0)}),t.bind("Escape",e,"se\
lect nothing",()=>this.clear())}turn(t){this.context.store.set({open:[...We(this.state.open,t)].join(",")||null})}toolbar(){let{state:t}=this,n=document.activeElement===
this.search;x(this.tools,this.search,o("span",{role:"group","aria-label":"Align ranks by (key: A)"},...St.filter(e=>e.by!=="stretched"||this.head.stretch).map(e=>o(
"button",{class:"choice",title:e.help,"aria-pressed":String(e.by===t.by),data:{align:e.by},on:{click:()=>this.choose(e.by)}},e.title))),t.by!=="wall"&&o("span",
{class:"tl-soft"},t.by==="step"?`at step ${t.step}`:t.by==="collective"?"at the nearest to the middle":"between collectives"),t.only.length>0&&o("span",{class:"\
tl-only"},"only "+t.only.map(e=>this.head.ranks[e]).join(" and "),o("button",{class:"quiet",title:"All ranks (key: r)","aria-label":"All ranks",on:{click:()=>this.
context.store.set({only:null})}},"✕")),o("span",{class:"space"}),this.head.steps.length>1&&o("button",{class:"button","aria-pressed":String(t.heat!=="off"),title:"\
Ranks × steps (key: h)",on:{click:()=>this.context.store.set({heat:t.heat==="off"?"work":"off"})}},"map"),o("button",{class:"button",title:"The whole capture (\
key: 0)",on:{click:()=>this.look(lt(this.all))}},"whole"),o("button",{class:"button","aria-label":"Zoom out",title:"Zoom out (key: s)",on:{click:()=>this.zoom(2,
this.width/2)}},"−"),o("button",{class:"button","aria-label":"Zoom in",title:"Zoom in (key: w)",on:{click:()=>this.zoom(.5,this.width/2)}},"+"),this.length),n&&
this.search.focus()}draw(...t){for(let n of t)this.dirty.add(n);this.frame===0&&(this.frame=requestAnimationFrame(()=>this.paint()))}colours(){let t=new Set;for(let n of this.
plan.groups)for(let e of n.rows)for(let s of this.head.rows[e.row].classes)t.add(s);x(this.classes,...[...t].sort((n,e)=>n-e).map(n=>o("span",{class:"key"},Ct(n),
this.head.classes[n])),this.head.stretch&&o("span",{class:"key"},o("i",{class:"tl-swatch tl-waits"}),"waits for other ranks"))}restyle(){this.palette=ge(),this.
painter.restyle(),this.draw("lanes","heat","overlay","gutter")}scene(){let t=this.body.scrollTop,n=this.body.clientHeight,{view:e}=this.state,s=[];if(this.state.
by==="wall"){let[i,r]=Nt(this.head.steps,e);if((r-i)*40<this.width)for(let h=i;h<r;h++)this.head.steps[h].end_ns!==0&&s.push(this.head.steps[h].start_ns)}return{
view:e,width:this.width,height:n,top:t,lanes:de(this.plan.lanes,t,t+n),lines:s,moved:this.alignment?.moved_ns??[],stretched:this.state.by==="stretched",palette:this.
palette,found:this.found===null?null:new Set(this.found.ids)}}above(){return{view:this.state.view,width:this.width,palette:this.palette,steps:this.head.steps,wall:this.
state.by==="wall"&&this.head.steps.length>0,ribbons:this.ribbons,picked:this.state.step}}paint(){this.frame=0;let t=performance.now(),n=this.dirty,{stats:e}=this.
painter;if(this.dirty=new Set,!(!this.el.isConnected||this.body.clientHeight===0)){if(n.has("lanes")){let s=this.scene(),{level:i,needs:r}=pt.needs(s);this.painter.
paint(s);for(let u of[this.painter.canvas,this.overlay.canvas,this.strips])u.style.height=s.height+"px";for(let u of[this.painter.canvas,this.overlay.canvas,this.
strips,this.ruler.canvas,this.minimap.canvas])u.style.width=s.width+"px";let h=this.minimap.needs(this.all,this.width);this.tiles.load(r,i,s.stretched),this.tiles.
load(h.needs,h.level,!1),this.minimap.canvas.style.height=J+"px",this.minimap.paint(this.all,s.view,this.width,this.palette);let l=this.above(),d=N.height({wall:l.
wall,ribbons:this.head.stretch});this.ruler.canvas.style.height=d+"px",this.ruler.paint(l,d);let p=Qe(s.view);this.length.textContent!==p&&(this.length.textContent=
p),this.offsets(s),this.rest(s),l.wall&&this.heat.view(...this.stepsShown()),this.marks()}else n.has("overlay")&&this.marks();if(n.has("gutter")){Ke(this.gutter,
this.head,this.plan,this.state.rank,this.alignment,i=>this.turn(i)),this.gutter.style.height=Math.max(this.plan.height,this.body.clientHeight)+"px";let s=this.state.
by!=="wall"?[]:this.head.stretch?["steps","waits in collectives"]:["steps"];x(this.legend,o("div",null,this.state.by==="stretched"?"stretched time":"time"),...s.
map(i=>o("div",null,i)))}n.has("heat")&&this.heat.paint(this.palette),e.script.push(performance.now()-t),e.script.length>4e3&&e.script.splice(0,2e3)}}stepsShown(){
let[t,n]=Nt(this.head.steps,this.state.view);return n>t?[t,n-1]:[-1,-1]}marks(){let t=this.selected,n=this.scene();this.painter.stats.overlays++,this.overlay.paint(
{...n,lanes:new Map(n.lanes.map(e=>[e.lane,e])),place:e=>this.shown(e),selected:t,counterparts:t===null?[]:t.counterparts.filter(e=>e.span>=0),flows:t===null?[]:
t.launch!==null?[[t.launch,t]]:t.launched.slice(0,30).map(e=>[t,e]),range:this.state.range,collective:this.parts?.links??null,last:this.parts?.of.last_ns??0},this.
pointer)}offsets(t){let n=t.stretched&&this.moved.size>0,e=this.alignment!==null&&(this.state.by==="step"||this.state.by==="collective");if(this.strips.hidden=!n&&
!e,this.strips.hidden)return;let s=n?this.moved:new Map((this.alignment?.moved_ns??[]).map((r,h)=>[h,[r]])),i=Math.max(...[...s.values()].map(r=>Math.max(...r.map(
Math.abs))),1);Xe(this.strips,this.plan,t.top,t.width,t.height,s,i,this.palette.name("medium"))}rest(t){let{t0:n,t1:e}=t.view,s=this.plan.groups.filter(r=>r.y+r.
height>t.top&&r.y<t.top+t.height).map(r=>r.rank),i=JSON.stringify([n,e,this.state.by,t.stretched?s:0]);i===this.settled||!this.head.stretch||this.state.by!=="wa\
ll"&&!t.stretched||(this.settled=i,clearTimeout(this.settle),this.rested(),W(new Promise(r=>this.rested=r)),this.settle=window.setTimeout(()=>{this.rested();let r=Math.
floor(n),h=Math.ceil(e);t.stretched?M("timeline/moved",{c:this.c,from:r,to:h,n:240,ranks:s.join(",")}).then(d=>{this.moved=new Map(s.map((p,u)=>[p,d[u]])),this.
draw("lanes")}):M("timeline/ribbons",{c:this.c,from:r,to:h,most:300}).then(l=>{this.ribbons=l.ribbons,this.draw("lanes")})},80))}listen(){this.search.addEventListener(
"input",()=>this.context.store.set({q:this.search.value})),this.search.addEventListener("keydown",n=>{n.key==="Enter"&&(n.preventDefault(),this.nextFound(n.shiftKey))}),
this.body.addEventListener("scroll",()=>{this.draw("lanes"),Math.abs(this.body.scrollTop-this.state.y)>1&&this.write()}),this.body.addEventListener("wheel",n=>this.
wheel(n),{passive:!1});for(let n of[this.ruler.canvas,this.minimap.canvas])n.addEventListener("wheel",e=>this.wheel(e,!0),{passive:!1});this.drag(this.overlay.canvas,
(n,e)=>{if(n.shiftKey||n.buttons===4)return this.pan(-n.movementX/this.width);let s=this.time(e),i=this.time(n.offsetX);this.state.range={t0:Math.round(Math.min(
s,i)),t1:Math.round(Math.max(s,i))},this.draw("overlay")},(n,e)=>{let s=this.state.range;e?s!==null&&!n.shiftKey&&s.t1>s.t0&&this.context.store.set({r0:s.t0,r1:s.
t1,sel:null},"push"):this.click(n.offsetX,n.offsetY)}),this.drag(this.ruler.canvas,n=>this.pan(-n.movementX/this.width),(n,e)=>{e||this.clickRuler(n.offsetX,n.offsetY)}),
this.ruler.canvas.addEventListener("dblclick",n=>{let e=N.stepAt(this.above(),n.offsetX,n.offsetY);e>=0&&this.look(V(this.head,e,e),"push",{step:e})});let t=n=>{
let e=this.all.t0+n.offsetX/this.width*(this.all.t1-this.all.t0),s=(this.state.view.t1-this.state.view.t0)/2;this.look(oe({t0:e-s,t1:e+s},0,this.all))};this.drag(
this.minimap.canvas,t,(n,e)=>e||t(n)),this.overlay.canvas.addEventListener("pointermove",n=>n.buttons===0&&this.hover(n.offsetX,n.offsetY)),this.overlay.canvas.
addEventListener("pointerleave",()=>this.hover(-1,-1)),this.ruler.canvas.addEventListener("pointermove",n=>n.buttons===0&&this.hoverRuler(n.offsetX,n.offsetY)),
this.ruler.canvas.addEventListener("pointerleave",()=>this.hoverRuler(-1,-1))}wheel(t,n=!1){let e=t.deltaMode===1?16:1,s=t.deltaX*e,i=t.deltaY*e,r=t.clientX-this.
overlay.canvas.getBoundingClientRect().left;if(t.ctrlKey||t.metaKey||n&&!t.shiftKey&&Math.abs(i)>=Math.abs(s))this.zoom(Math.exp(Math.min(Math.max(i,-240),240)/
300),r);else if(t.shiftKey||Math.abs(s)>Math.abs(i))this.pan((t.shiftKey&&s===0?i:s)/this.width);else return;t.preventDefault()}drag(t,n,e){let s=NaN,i=!1;t.addEventListener(
"pointerdown",r=>{r.button>1||(s=r.offsetX,i=!1,t.setPointerCapture(r.pointerId))}),t.addEventListener("pointermove",r=>{Number.isNaN(s)||(i||=Math.abs(r.offsetX-
s)>4,i&&n(r,s))}),t.addEventListener("pointerup",r=>{Number.isNaN(s)||e(r,i),s=NaN}),t.addEventListener("pointercancel",()=>s=NaN)}async click(t,n){let e=this.painter.
hit(t,n);if(e===null)return this.clear();let s="rank"in e?e.rank:e.lane.rank;if("span"in e)return this.context.store.set({rank:s,sel:e.span,r0:null,r1:null},"pu\
sh");let i=await this.ask(e,this.time(t-1),this.time(t+2));i===null?this.clear():this.context.store.set({rank:s,sel:i.span,r0:null,r1:null},"push")}clickRuler(t,n){
let e=this.above(),s=N.stepAt(e,t,n),i=N.ribbonAt(e,t,n);if(s>=0){let r=this.head.steps[s];this.context.store.set({step:s,r0:r.start_ns,r1:r.end_ns,sel:null},"p\
ush")}else if(i!==null){let r=Math.max(i.last_ns-i.first_ns,i.end_ns-i.last_ns,1e3);this.state.view=Mt({t0:i.last_ns-1.5*r,t1:i.last_ns+.8*r},i.late.start_ns,0,
this.all),this.go(i.late)}}hover(t,n){let e=t<0?null:this.painter.hit(t,n);if(this.pointer={x:t,y:n,box:e!==null&&"span"in e?{x0:e.x0,x1:e.x1,lane:e.lane}:null},
this.parts!==null&&t>=0&&(this.parts=null),this.marks(),e===null)return E();if("span"in e)this.tipSpan(e,t,n);else{let{class:s,covered:i}=this.painter.classAt(e,
t);s===0?E():R(this.overlay.canvas,t,n,{title:this.head.classes[s],rows:[["busy here",F(Math.round(i*100)/100)],["","a click selects the longest span"]]})}}tipSpan(t,n,e){
let s=this.head.rows[t.lane.row],{view:i}=this.state,r=(t.x1-t.x0)/this.width*(i.t1-i.t0),h=[[this.head.ranks[s.rank],s.name],["what",this.head.classes[t.class]??
""]];this.state.by!=="stretched"&&h.push(["duration",g(Math.round(r))]),R(this.overlay.canvas,n,e,{title:this.names.get(t.name),rows:h})}hoverRuler(t,n){let e=this.
above(),s=t<0?null:N.ribbonAt(e,t,n),i=t<0?-1:N.stepAt(e,t,n);if(s!==null)R(this.ruler.canvas,t,n,on(s,this.head.ranks[s.late.rank])),this.parts?.of!==s&&(this.
parts={of:s,links:[]},M("timeline/parts",{c:this.c,domain:s.domain,index:s.index}).then(r=>{this.parts?.of===s&&(this.parts.links=r),this.draw("overlay")}));else{
this.parts=null;let r=this.head.steps[i];r===void 0?E():R(this.ruler.canvas,t,n,{title:`step ${i}, ${r.kind}`,rows:[["name",r.name],["all ranks",g(r.end_ns-r.start_ns)]]})}
this.draw("overlay")}close(){clearTimeout(this.timer),clearTimeout(this.settle),this.written(),this.rested(),cancelAnimationFrame(this.frame),this.watch.disconnect(),
E()}},ye=class{el=o("div",null);view=null;closed=!1;constructor(t){M("timeline/head",{c:t.store.params.c}).then(n=>{this.closed||(this.view=new xe(t,n),this.el.
replaceChildren(this.view.el),this.view.draw("lanes","heat","gutter"))})}update(t,n){this.view?.update(t,n)}restyle(){this.view?.restyle()}close(){this.closed=!0,
this.view?.close()}},hn={id:"timeline",title:"Timeline",needs:"capture",open:a=>new ye(a)};var dn={id:"kernels",title:"Kernels",needs:"capture",open:()=>({el:o("div",null)})};var un={id:"whatif",title:"What if",needs:"capture",open:()=>({el:o("div",null)})};var I=class extends dt{constructor(n,e,s,i,r=!0){super(n,e,{kinds:[],grid:{cols:s.running.length}},i,64,r?28:6);this.bench=s;this.axis=r}bench;axis;fine=null;at(n,e){
return this.x(n/this.bench.bin_ns,e)}sight(){return{from:this.view.lo*this.bench.bin_ns,to:this.view.hi*this.bench.bin_ns}}whenClicked(n){let e=NaN;this.canvas.
addEventListener("pointerdown",s=>e=s.offsetX),this.canvas.addEventListener("click",s=>{Math.abs(s.offsetX-e)<=8&&n(s.offsetX,s.offsetY)})}when(n,e){return this.
bench.at[n]+(this.bench.at_once?Math.max(e[n],0):0)}shade({ctx:n,area:e,color:s}){for(let[i,r,h]of[[this.bench.steady,"info",.1],[this.bench.profiled,"k3",.15]]){
n.fillStyle=s(r),n.globalAlpha=h;for(let l of i){let d=Math.max(this.at(l.from,e),e.x),p=Math.min(this.at(l.to,e),e.x+e.w);p>d&&n.fillRect(d,e.y,p-d,e.h)}n.globalAlpha=
1}}xAxis({ctx:n,area:e,color:s}){if(!this.axis)return;let i=this.bench.bin_ns,r=this.view.lo*i,h=this.view.hi*i,l=K(h-r,Math.max(e.w/110,2)),d=l.length>1?l[1]:h-
r||1;n.fillStyle=s("soft"),n.textBaseline="top",n.textAlign="center";for(let p=Math.ceil(r/d)*d;p<=h;p+=d)n.fillText(Be(Math.round(p),d),Math.min(this.at(p,e),e.
x+e.w-14),e.y+e.h+5)}inside({ctx:n,area:e},s){n.save(),n.beginPath(),n.rect(e.x,e.y,e.w,e.h),n.clip(),s(),n.restore()}bins(){return this.fine??this.bench}stairs({
ctx:n,area:e,color:s},i,r,h,l){let d=this.bins(),p=m=>e.y+e.h*(1-m/r),u=m=>this.at(d.from_ns+m*d.bin_ns,e);n.beginPath(),i.forEach((m,c)=>{n.lineTo(u(c),p(m)),n.
lineTo(u(c+1),p(m))}),n.strokeStyle=n.fillStyle=s(h),n.lineWidth=1.5,n.stroke(),l&&(n.lineTo(u(i.length),e.y+e.h),n.lineTo(u(0),e.y+e.h),n.globalAlpha=.18,n.fill(),
n.globalAlpha=1)}top(n){let e=this.bins(),s=r=>(r*this.bench.bin_ns-e.from_ns)/e.bin_ns,i=0;for(let r=Math.max(Math.floor(s(this.view.lo)),0);r<Math.min(Math.ceil(
s(this.view.hi)),n.length);r++)i=Math.max(i,n[r]);return i*1.06||1}tip(n){let e=this.bench;if(n<0||n>=e.running.length)return null;let s=[],i=h=>h>=n*e.bin_ns&&
h<(n+1)*e.bin_ns,r=pn(e.at,i);r.length&&s.push(["requests sent",String(r.length)]);for(let[h,l]of[["TTFT",e.ttft],["E2E",e.e2e]]){let d=l.reduce((p,u,m)=>u>p&&i(
this.when(m,l))?u:p,-1);d>=0&&s.push(["longest "+h,g(d)])}return e.embedding||s.push([U(e)?"output tokens in the busiest second":"output tokens in the last seco\
nd",ke(e.busiest[n])]),!e.embedding&&U(e)&&s.push(["output tokens/s, mean",ke(e.tokens[n]/(e.bin_ns/1e9))]),s.push(["under way at most",T(String(e.most[n]))],["\
under way, mean",e.running[n].toFixed(1)]),e.embedding||s.push(["in decode, mean",e.decode[n].toFixed(1)]),s.push(["ended",String(e.ended[n])]),e.failed[n]&&s.push(
["failed",String(e.failed[n])]),{title:`${n?g(n*e.bin_ns):"0"} – ${g((n+1)*e.bin_ns)}`,rows:s}}};function pn(a,t){let n=[];return a.forEach((e,s)=>t(e,s)&&n.push(
s)),n}function ke(a){return a===0?"0":a>=99.95?T(String(Math.round(a))):a.toFixed(1)}function Vn(a,t){let n=[];for(let e=Math.pow(10,Math.floor(Math.log10(a)));e<=
t;e*=10)for(let s of[1,2,5])s*e>=a&&s*e<=t&&n.push(s*e);return n.length>7?n.filter(e=>Math.abs(Math.log10(e)%1)<1e-6||Math.abs(Math.log10(e)%1-1)<1e-6):n}var zt=[
["ttft","k1",1],["e2e","k0",2]],It=class extends I{log=!0;chosen=-1;range(){let t=1/0,n=0;for(let[e]of zt)for(let s of this.shown(e))this.bench[e][s]>0&&(t=Math.
min(t,this.bench[e][s]),n=Math.max(n,this.bench[e][s]));return n===0&&(t=1e6,n=1e9),n*=1.1,t*=.9,this.log&&n/t<10&&(t=n/10),[t,n]}y(t,[n,e],s){return s.y+s.h*(this.
log?1-Math.log(t/n)/Math.log(e/n):1-t/e)}shown(t){let n=this.bench[t],{from:e,to:s}=this.sight();return pn(n,(i,r)=>this.when(r,n)>=e&&this.when(r,n)<=s)}near(t,n){
let e=this.area(),s=this.range(),i=-1,r=64;for(let[h]of zt){let l=this.bench[h];for(let d of this.shown(h)){let p=l[d]>0?this.y(l[d],s,e):h==="e2e"&&this.failed(
d)?e.y+e.h-5:NaN,u=(this.at(this.when(d,l),e)-t)**2+(p-n)**2;u<=r&&(r=u,i=d)}}return i}failed(t){return this.bench.ttft[t]<0&&this.bench.e2e[t]<0}paint(t){let{ctx:n,
area:e,color:s}=t,i=this.bench,r=this.range(),[h,l]=r;if(this.shade(t),this.log){n.textAlign="right",n.textBaseline="middle";for(let d of Vn(h,l))n.fillStyle=s(
"line"),n.fillRect(e.x,Math.round(this.y(d,r,e)),e.w,1),n.fillStyle=s("soft"),n.fillText(g(d),e.x-6,this.y(d,r,e))}else this.yAxis(t,l,g);this.inside(t,()=>{for(let[
d,p,u]of zt){let m=i.limits[d];m&&(!this.log||m>h)&&cn(t,this.y(m,r,e),p),n.globalAlpha=.75;for(let c of this.shown(d))i[d][c]>0&&(n.fillStyle=s(i.touched[c]&u?
"k4":p),n.beginPath(),n.arc(this.at(this.when(c,i[d]),e),this.y(i[d][c],r,e),2,0,7),n.fill());n.globalAlpha=1}n.fillStyle=s("high");for(let d of this.shown("e2e"))
this.failed(d)&&n.fillRect(this.at(i.at[d],e)-1,e.y+e.h-10,2,10)}),this.xAxis(t)}mark(t){super.mark(t);let{ctx:n,area:e,color:s}=t,i=this.chosen,r=this.bench,h=this.
range();i<0||this.inside(t,()=>{n.strokeStyle=s("mark"),n.lineWidth=2;for(let[l]of zt)r[l][i]>0&&(n.beginPath(),n.arc(this.at(this.when(i,r[l]),e),this.y(r[l][i],
h,e),5,0,7),n.stroke())})}};function cn({ctx:a,area:t,color:n},e,s){a.strokeStyle=n(s),a.lineWidth=1.5,a.setLineDash([6,4]),a.beginPath(),a.moveTo(t.x,e),a.lineTo(
t.x+t.w,e),a.stroke(),a.setLineDash([])}function U(a){return a.bin_ns>=1e9}var Bt=class extends I{paint(t){let n=this.bins(),e=this.fine!==null,s=this.top(e?n.tokens:
n.busiest);this.shade(t),this.yAxis(t,s,ke),this.inside(t,()=>{if(e)return this.stairs(t,n.tokens,s,"compute",!0);this.stairs(t,n.busiest,s,"compute",!U(n)),U(n)&&
this.stairs(t,n.tokens.map(i=>i/(n.bin_ns/1e9)),s,"k1",!0)}),this.xAxis(t)}title(){let t=g(this.bins().bin_ns);return this.fine?`Output tokens in each ${t}`:U(this.
bench)?`Output tokens in the seconds of each ${t}`:"Output tokens in the last second"}},Dt=class extends I{queue=[];paint(t){let{ctx:n,area:e,color:s}=t,i=this.
bench,r=this.bins(),{from:h,to:l}=this.sight(),d=this.queue.filter(u=>u.at>=h&&u.at<=l),p=Math.max(this.top(r.most),...d.map(u=>u.queued*1.06));this.shade(t),this.
yAxis(t,p,u=>T(String(u))),this.inside(t,()=>{this.stairs(t,r.most,p,"host",!0),i.embedding||this.stairs(t,r.decode,p,"k0",!1),this.queue.length>0&&this.queued(
t,p),n.fillStyle=s("high"),r.failed.forEach((u,m)=>{let c=this.at(r.from_ns+m*r.bin_ns,e);u&&n.fillRect(c,e.y+e.h-10,Math.max(this.at(r.from_ns+(m+1)*r.bin_ns,e)-
c,2),10)})}),this.xAxis(t)}queued({ctx:t,area:n,color:e},s){t.beginPath();for(let i of this.queue)t.lineTo(this.at(i.at,n),n.y+n.h*(1-i.queued/s));t.strokeStyle=
e("k3"),t.lineWidth=1.5,t.stroke()}},Ft=class extends O{constructor(n,e,s){super(n,e,{left:64,bottom:26});this.spread=s;this.nines=Math.max(Math.log10(s.n),.31),
this.canvas.addEventListener("pointermove",i=>{let r=this.area(),h=1-Math.pow(10,-(i.offsetX-r.x)/r.w*this.nines),l=0;s.shares.forEach((d,p)=>d<=h&&(l=p)),this.
point(l,i.offsetX,i.offsetY)}),this.canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.
addEventListener("keydown",i=>{let r=s.shares.length-1,h=i.shiftKey?10:1;if(i.key==="ArrowRight")this.point(Math.min(this.i+h,r));else if(i.key==="ArrowLeft")this.
point(Math.max(this.i-h,0));else if(i.key==="Home")this.point(0);else if(i.key==="End")this.point(r);else if(i.key==="Escape")this.point(-1);else return;i.preventDefault()})}spread;other=null;i=-1;nines;x(n,e){
return e.x+e.w*Math.min(-Math.log10(Math.max(1-n,1e-12))/this.nines,1)}point(n,e,s){if(this.i=n,this.again(),n<0)return E();let i=this.spread,r=i.shares[n],h=this.
other,l=[["percentile",r===1?"longest":"p"+Number((r*100).toPrecision(6))],["value",g(i.values[n])]];h&&l.push(["before",g(Gn(h,r))]),R(this.canvas,e??this.x(i.
shares[n],this.area()),s??20,{title:i.title,rows:l})}paint(n){let{ctx:e,area:s,color:i}=n,r=this.spread,h=this.top(),l=p=>s.y+s.h*(1-p/h);this.yAxis(n,h,g),e.textBaseline=
"top";let d=-1/0;for(let[p,u]of[[0,"min"],[.5,"p50"],[.9,"p90"],[.99,"p99"],[.999,"p99.9"],[.9999,"p99.99"],[.99999,"p99.999"]]){if(-Math.log10(1-p)>this.nines)
break;let m=this.x(p,s),c=e.measureText(u).width,f=Math.min(m-c/2,s.x+s.w+8-c);e.fillStyle=i("line"),e.fillRect(Math.round(m),s.y,1,s.h),!(f<d+4)&&(e.fillStyle=
i("soft"),e.textAlign="left",e.fillText(u,f,s.y+s.h+6),d=f+c)}r.limit>0&&r.limit<h&&cn(n,l(r.limit),"high");for(let[p,u]of[[this.other,"k4"],[r,"k0"]])p&&(e.beginPath(),
p.values.forEach((m,c)=>e.lineTo(this.x(p.shares[c],s),l(m))),e.strokeStyle=i(u),e.lineWidth=2,e.stroke())}mark({ctx:n,area:e,color:s}){if(this.i<0)return;let i=this.
spread,r=this.top();n.fillStyle=s("mark"),n.beginPath(),n.arc(this.x(i.shares[this.i],e),e.y+e.h*(1-i.values[this.i]/r),3.5,0,7),n.fill()}top(){return Math.max(
this.spread.values.at(-1)??0,this.other?.values.at(-1)??0)*1.06||1}};function Gn(a,t){let n=a.shares.findIndex(e=>e>=t);return a.values[n<0?a.values.length-1:n]}function Me(a){return o("div",null,o("div",{class:"scroll",role:"region",tabindex:"0","aria-label":a.title+", table"},o("table",null,o("thead",null,o("tr",null,
...a.cols.map(t=>t.name===""?o("td"):o("th",{scope:"col",class:t.right?"r":void 0,title:t.help},t.name)))),o("tbody",null,...a.rows.map(t=>o("tr",null,...t.cells.
map(Yn)))))),a.omitted&&o("p",{class:"soft"},a.omitted))}function Yn(a){return o("td",{class:a.right?"r":a.wrap?"w":a.short?"n":void 0},a.code?o("code",{title:a.
full},a.text):a.text)}function mn(a,t){let n=0,e=a.length;for(;n<e;){let s=n+e>>1;a[s]<t?n=s+1:e=s}return n}function ct(a){let t=a.dp_rank>=0?"DP"+String(a.dp_rank).padStart(2,"0"):"";
return[a.server,t].filter(n=>n!=="").join(" ")||"steps"}var Z=18,Ut=class extends I{constructor(n,e,s,i){super(n,i.lanes.length*Z+12,e,s,!1);this.steps=i;this.whenClicked(
(r,h)=>{let l=this.stepAt(r,h);l&&this.whenChosen(l)})}steps;lit=null;whenChosen=()=>{};light(n){this.lit=n&&this.steps.lanes.map((e,s)=>new Set(n.filter(i=>i.lane===
s).map(i=>i.step))),this.draw()}rows(){return this.steps.lanes.length}rowAt(n){return Math.min(Math.max(Math.floor((n-this.area().y)/Z),0),this.rows()-1)}stepAt(n,e){
let s=this.area(),i=this.rowAt(e),r=this.steps.lanes[i];if(!r||e<s.y||e>s.y+s.h)return null;let h=this.colAt(n)*this.bench.bin_ns,l=1.5*((this.view.hi-this.view.
lo)*this.bench.bin_ns)/s.w,d=mn(r.to,h-l);return d<r.to.length&&r.from[d]<=h+l?{lane:i,step:d}:null}paint(n){let{ctx:e,area:s,color:i}=n,r=this.steps.kinds.map(
d=>i(ut(d)));this.shade(n);let{from:h,to:l}=this.sight();e.textAlign="right",e.textBaseline="middle",this.steps.lanes.forEach((d,p)=>{let u=s.y+p*Z;e.fillStyle=
i("soft"),e.fillText(Jn(e,ct(d),s.x-8),s.x-6,u+Z/2),e.fillStyle=i("line"),e.fillRect(s.x,u+Z-1,s.w,1),this.inside(n,()=>{let m=-1/0;for(let c=mn(d.to,h);c<d.from.
length&&d.from[c]<=l;c++){let f=this.lit===null||this.lit[p].has(c),b=this.at(d.from[c],s),v=Math.max(this.at(d.to[c],s),b+.5);v<m+.5&&!f||(e.globalAlpha=f?1:.2,
e.fillStyle=r[d.kind[c]],e.fillRect(b,u+3,v-b-(v-b>3?1:0),Z-6),m=Math.max(m,v))}e.globalAlpha=1})}),this.xAxis(n)}point(n,e,s,i){super.point(n,e,s,i),this.canvas.
style.cursor=s!==void 0&&i!==void 0&&this.stepAt(s,i)?"pointer":""}tipAt(n,e){let s=this.stepAt(n,e);if(!s)return null;let i=this.steps.lanes[s.lane];return{title:this.
steps.names[i.name[s.step]],rows:[["step",`${s.step}, ${this.steps.kinds[i.kind[s.step]]}`],["took",g(i.to[s.step]-i.from[s.step])],["from",g(i.from[s.step])],[
"requests of this load in it",T(String(i.batch[s.step]))]]}}};function Jn(a,t,n){if(a.measureText(t).width<=n)return t;for(;t.length>1&&a.measureText(t+"…").width>
n;)t=t.slice(0,-1);return t+"…"}function Qn(a){return Math.min(Math.max(a*9,40),360)}var jt=class extends I{constructor(n,e,s,i){super(n,Qn(i.rows)+34,e,s);this.
requests=i;this.whenClicked((r,h)=>{let l=this.barAt(r,h);l>=0&&this.whenChosen(this.requests.index[l])})}requests;marked=-1;others=new Set;whenChosen=()=>{};show(n){
this.requests=n,this.draw()}light(n,e){this.marked=n,this.others=new Set(e),this.draw()}y(n,e){let s=e.h/Math.max(this.requests.rows,1);return[e.y+n*s,Math.max(
s-(s>3?1:0),.7)]}barAt(n,e){let s=this.area(),i=this.colAt(n)*this.bench.bin_ns,r=this.requests,h=2*((this.view.hi-this.view.lo)*this.bench.bin_ns)/s.w,l=Math.floor(
(e-s.y)/s.h*r.rows),d=Math.max(Math.ceil(2*r.rows/s.h)-1,0),p=-1;for(let u=0;u<r.index.length;u++)Math.abs(r.row[u]-l)>d||r.sent[u]>i+h||r.done[u]<i-h||(p<0||Math.
abs(r.row[u]-l)<Math.abs(r.row[p]-l))&&(p=u);return p}paint(n){let{ctx:e,area:s,color:i}=n,r=this.requests;this.shade(n),e.fillStyle=i("soft"),e.textAlign="righ\
t",e.textBaseline="top",e.fillText(T(String(r.rows)),s.x-6,s.y),e.fillText("at once",s.x-6,s.y+13);let h={wait:i("k1"),decode:i("k0"),end:i("k4"),failed:i("high")};
this.inside(n,()=>{for(let l=0;l<r.index.length;l++){let[d,p]=this.y(r.row[l],s),u=r.index[l]===this.marked;e.globalAlpha=this.marked<0&&this.others.size===0||u||
this.others.has(r.index[l])?r.touched[l]&&!u?.75:1:.18;let m=(b,v,w,y=1)=>{let k=Math.max(this.at(b,s),s.x-1),S=Math.min(this.at(v,s),s.x+s.w+1);S<s.x||k>s.x+s.
w||v<=b||(e.fillStyle=w,e.fillRect(k,d+p*(1-y)/2,Math.max(S-k,.5),p*y))};if(r.failed[l]){m(r.sent[l],r.done[l],h.failed);continue}let c=r.first[l]<0?r.done[l]:r.
first[l],f=Math.max(r.last[l],c);m(r.sent[l],c,h.wait,.55),m(c,f,h.decode),m(f,r.done[l],h.end,.3)}e.globalAlpha=1}),this.xAxis(n)}mark(n){super.mark(n);let{ctx:e,
area:s,color:i}=n,r=this.requests.index.indexOf(this.marked);if(r<0)return;let[h,l]=this.y(this.requests.row[r],s);this.inside(n,()=>{e.strokeStyle=i("mark"),e.
lineWidth=1.5;let d=this.at(this.requests.sent[r],s),p=this.at(this.requests.done[r],s);e.strokeRect(d-1,h-1,Math.max(p-d+2,3),l+2)})}point(n,e,s,i){super.point(
n,e,s,i),this.canvas.style.cursor=s!==void 0&&i!==void 0&&this.barAt(s,i)>=0?"pointer":""}tipAt(n,e){let s=this.barAt(n,e),i=this.requests;if(s<0)return null;let r=[
["sent at",g(i.sent[s])]];return i.failed[s]?r.push(["failed after",g(i.done[s]-i.sent[s])]):(i.first[s]>=0&&r.push(["TTFT",g(i.first[s]-i.sent[s])]),r.push(["E\
2E",g(i.done[s]-i.sent[s])])),i.touched[s]&&r.push(["touched","by the captured window"]),{title:"request "+i.index[s],rows:r}}};function fn(a){return{queue:"idle",prefill:"k1",decode:"k0",wait:"wait",reply:"k2",unknown:"unknown"}[a]}function bn(a){return["queue","prefill","wait","decode",
"reply","unknown"].map(n=>({of:n,ns:a.filter(e=>e.of===n).reduce((e,s)=>e+s.ns,0)})).filter(n=>n.ns>0)}var gn={queue:"queue",prefill:"prefill",wait:"wait",decode:"\
decode",reply:"reply",unknown:"not recorded"};function Wt(a,t=!1){let n=a.reduce((i,r)=>i+r.ns,0)||1,e=o("div",{class:"parts","aria-hidden":"true"},...a.map(i=>{
let r=o("i",{title:`${i.name} ${g(i.ns)}`});return r.style.width=`${100*i.ns/n}%`,r.style.background=`var(--${fn(i.of)})`,r})),s=i=>{let r=o("i");return r.style.
background=`var(--${fn(i)})`,r};return t?o("div",null,e,o("p",{class:"keys"},...bn(a).map(i=>o("span",{class:"key"},s(i.of),gn[i.of]+" ",o("b",null,g(i.ns)))))):
o("div",null,e,o("p",{class:"keys sums"},...bn(a).map(i=>o("span",{class:"key"},s(i.of),gn[i.of]+" ",o("b",null,g(i.ns))))),o("table",{class:"split"},o("tbody",
null,...[...a].sort((i,r)=>r.ns-i.ns).map(i=>o("tr",null,o("th",{scope:"row"},s(i.of),i.name,i.more&&o("small",null,i.more)),o("td",null,g(i.ns)),o("td",null,F(
i.ns/n)))))))}function vn(a,t,n){let e=a.moments.find(i=>i.name==="sent")?.at??a.moments[0]?.at??0;return o("aside",{class:"panel","aria-label":"Request "+a.index},
o("header",null,o("h2",null,"Request ",String(a.index),a.turn>0&&`, turn ${a.turn+1}`),o("button",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:n.
close}},"×")),a.id!==""&&o("p",{class:"id"},o("code",null,a.id)),a.failure!==""&&o("p",{class:"caveat"},"failed: "+a.failure+(a.error?": "+a.error:"")),a.ttft&&
Zn("TTFT",a.ttft),a.why!==""&&o("p",{class:"soft"},a.why),ts(a,t,n),a.gaps.length>0&&o("section",null,o("h3",null,"Its longest waits for a token"),...a.gaps.slice(
0,4).map(i=>o("div",{class:"gap"},o("p",null,o("b",null,g(i.ns)),` until event ${i.event}`),Wt(i.parts,!0)))),a.with.length>0&&o("section",null,o("h3",null,"In \
the same steps"),o("p",{class:"chips"},...a.with.map(i=>o("button",{class:"chip",title:i.id+`: ${i.steps} steps together`,on:{click:()=>n.request(i.index)}},String(
i.index),o("small",null,"×"+i.steps))))),o("section",null,o("h3",null,"Moments"),o("dl",null,...a.moments.flatMap(i=>[o("dt",null,i.name),o("dd",null,i.name===
"sent"?g(i.at)+" into the load":i.at===e?"0":(i.at<e?"−":"+")+g(Math.abs(i.at-e)))]))),o("section",null,o("h3",null,"Facts"),o("dl",null,...a.facts.flatMap(([
i,r])=>[o("dt",null,i),o("dd",null,r)]))))}function Zn(a,t){return o("section",null,o("h3",null,a+" ",o("b",null,g(t.ns)),t.place&&o("span",{class:"soft"}," on "+
t.place)),Wt(t.parts))}function ts(a,t,n){if(!t||a.steps.length===0)return null;let e=[...new Set(a.steps.map(s=>s.lane))];return o("section",null,o("h3",null,"\
Its steps"),...e.map(s=>{let i=a.steps.filter(l=>l.lane===s).map(l=>l.step),r=t.lanes[s],h=n.timeline(s,r.from[i[0]],r.to[i[i.length-1]]);return o("p",null,`${ct(
r)}: ${i.length} of steps ${i[0]}–${i[i.length-1]} `,h&&o("a",{href:h},"see them in the timeline"))}))}var es=2e5,ns=120,Kt=class{constructor(t,n,e,s,i){this.store=t;this.run=n;this.requests=e;let r=n.plots;this.view=new yt(r.running.length,es/r.bin_ns);let h=w=>o(
"canvas",{tabindex:"0",role:"img","aria-label":w}),l=(w,y,k,...S)=>o("figure",null,o("figcaption",null,typeof w=="string"?o("span",null,w):w,o("span",{class:"ke\
ys"},...y.map(([st,it])=>wn(st,it)),...S)),k),d=[...r.steady.length?[["info","steady"]]:[],...r.profiled.length?[["k3","captured window"]]:[]],p=o("input",{type:"\
checkbox"});p.checked=!0,p.addEventListener("change",()=>{this.latency.log=p.checked,this.latency.draw()});let u=h(`Latency of requests by the time of ${r.at_once?
"their end":"sending"}`);this.latency=new It(u,220,r,this.view),this.latency.whenClicked((w,y)=>{let k=this.latency.near(w,y);this.choose(k<0?null:r.index[k])});
let m=new Dt(h("Requests under way over time"),100,r,this.view,!1);m.queue=n.server,this.binned.push(m),this.plots.push(this.latency,m);let c=r.embedding?null:new Bt(
h("Output tokens a second over time"),100,r,this.view,!1);c&&(this.tokens=c,this.rate.textContent=c.title(),this.binned.push(c),this.plots.push(c)),this.bars=new jt(
h("Requests as bars over time"),r,this.view,e),this.bars.whenChosen=w=>this.choose(w),this.plots.push(this.bars);let f=r.touched.some(w=>w>0)?[["k4","touched by\
 it: in no figure"]]:[],b=r.embedding?[["k0","E2E"]]:[["k1","TTFT"],["k0","E2E"]],v=r.spreads.map(w=>{let y=new Ft(h(w.title+" by percentile"),190,w);return y.other=
s?.plots.spreads.find(k=>k.name===w.name)??null,this.plots.push(y),l(w.title,y.other?[["k0","this run"],["k4","before"]]:[],y.canvas,o("span",{class:"soft"},w.note))});
this.el=o("div",{class:"run"},o("header",null,o("div",{class:"what"},o("h2",null,n.title),o("p",{class:"verdict"},n.verdict),...n.next.map(w=>o("p",{class:"next"},
w)),o("p",{class:"facts"},[n.id,...n.tags,...n.head].join(" · "))),o("div",{class:"choices"},this.repetitions(),o("label",null,"against ",this.against))),o("di\
v",{class:"cards"},...n.cards.map((w,y)=>o("div",{class:"card"},o("span",null,w.name),o("b",null,w.value),o("span",null,w.more),s?.cards[y]?.name===w.name&&o("s\
pan",{class:"before"},"before: "+s.cards[y].value)))),i&&ss(i),o("div",{class:"axis"},o("div",{class:"plots"},l(r.embedding?"E2E of each request":"TTFT and E2E \
of each request",[...b,...f,["high","failed"],...d],u,o("label",null,p," logarithmic")),c&&l(this.rate,U(r)?[["compute","busiest second"],["k1","mean"]]:[],c.canvas),
l("Requests",[["host","under way"],...r.embedding?[]:[["k0","in decode"]],...n.server.length?[["k3","queued, as the server says"]]:[]],m.canvas),this.strip,l("R\
equests one by one",[["k1","until the first token"],["k0","decode"],["k4","end"],["high","failed"]],this.bars.canvas,this.note),o("p",{class:"hint"},"Drag to zo\
om all, double click for all of the run. Click a dot or a bar for what its request waited for.")),this.side),this.slow,o("section",null,o("h3",null,"Distributio\
ns"),o("div",{class:"spreads"},...v)),o("section",{class:"said"},o("h3",null,"What else is known"),o("dl",null,...n.facts.flatMap(w=>[o("dt",null,w.label),o("dd",
{class:w.severity&&"fact-"+w.severity},w.text)]))),...n.tables.map(w=>o("section",null,o("h3",null,w.title),Me(w)))),this.view.whenMoved=()=>this.moved(),n.recorded&&
x(this.strip,o("p",{class:"soft"},"Reading the recorded steps…"))}store;run;requests;el;against=o("select",{"aria-label":"Compare with"});view;plots=[];latency;tokens=null;rate=o(
"span");binned=[];bars;lanes=null;steps=null;strip=o("div",{class:"strip"});slow=o("section",{class:"slow"});side=o("div",{class:"side"});note=o("span",{class:"\
soft"});chosen="";timer=0;start(){this.follow(this.store.params),this.restyle()}restyle(){for(let t of this.plots)t.draw()}close(){clearTimeout(this.timer);for(let t of this.
plots)t.drop()}repetitions(){let{run:t}=this;if(t.reps<2)return null;let n=o("select",{"aria-label":"Repetition"},...Array.from({length:t.reps},(e,s)=>o("option",
{value:s},`run ${s+1} of ${t.reps}`)));return n.value=String(t.rep),n.addEventListener("change",()=>this.store.set({rep:n.value,req:null,pass:null,lane:null},"p\
ush")),n}follow(t){let n=this.run.plots.bin_ns,e=this.run.plots.running.length*n,s=A(t,"b0",0)/n,i=A(t,"b1",e)/n;(Math.abs(s-this.view.lo)>1e-6||Math.abs(i-this.
view.hi)>1e-6)&&this.view.zoom(s,i);let r=JSON.stringify([t.req,t.lane,t.pass]);r!==this.chosen&&(this.chosen=r,t.req!==void 0?this.showRequest(A(t,"req",-1)):t.
pass!==void 0&&this.steps?this.showStep({lane:A(t,"lane",0),step:A(t,"pass",-1)}):this.bare())}moved(){let t=this.run.plots.bin_ns,n=this.view.hi-this.view.lo>=
this.view.cols-1e-9;this.store.set({b0:n?null:this.view.lo*t,b1:n?null:this.view.hi*t}),clearTimeout(this.timer),this.timer=window.setTimeout(()=>{this.refine()},
ns)}async refine(){let t=this.run.plots,{lo:n,hi:e}=this.view,s={run:this.run.id,rep:this.run.rep,from:Math.round(Math.max(n*t.bin_ns,0)),to:Math.round(e*t.bin_ns)},
i=e-n<this.view.cols/2&&t.bin_ns>1e6,[r,h]=await Promise.all([i?M("load/timeline",s):null,this.requests.of>this.requests.index.length||this.requests.of<this.run.
plots.at.length?M("load/requests",s):null]);if(!(n!==this.view.lo||e!==this.view.hi)){for(let l of this.binned)l.fine=r,l.draw();this.tokens&&(this.rate.textContent=
this.tokens.title()),h&&this.take(h)}}take(t){this.requests=t,this.bars.show(t);let n=t.of-t.index.length;this.note.textContent=n>0?`${t.index.length} of ${t.of}\
 in sight`:""}zoom(t){let n=this.view.col>=0?this.view.col+.5:(this.view.lo+this.view.hi)/2,e=(this.view.hi-this.view.lo)/2*t;this.view.zoom(n-e,n+e)}pan(t){let n=(this.
view.hi-this.view.lo)*t;this.view.zoom(this.view.lo+n,this.view.hi+n)}whole(){this.view.zoom(0,this.view.cols)}captured(){let t=this.steps?.lanes.flatMap(r=>r.windows)??
[],n=t.length?t:this.run.plots.profiled;if(n.length===0)return;let e=Math.min(...n.map(r=>r.from)),s=Math.max(...n.map(r=>r.to)),i=(s-e)*.03;this.view.zoom((e-i)/
this.run.plots.bin_ns,(s+i)/this.run.plots.bin_ns)}choose(t){this.store.set({req:t,lane:null,pass:null},"push")}release(){this.store.params.req!==void 0||this.store.
params.pass!==void 0?this.choose(null):this.whole()}next(t){let n=this.requests.index,e=n.indexOf(A(this.store.params,"req",-1)),s=n[e<0?t>0?0:n.length-1:Math.min(
Math.max(e+t,0),n.length-1)];s!==void 0&&this.store.set({req:s,lane:null,pass:null})}bare(){this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,[]),this.
lanes?.light(null),this.panel(null)}panel(t){x(this.side,t),this.el.classList.toggle("open",t!==null)}async showRequest(t){let n=this.chosen,e=await M("load/req\
uest",{run:this.run.id,rep:this.run.rep,index:t});n===this.chosen&&(this.latency.chosen=this.run.plots.index.indexOf(t),this.latency.again(),this.bars.light(t,e.
with.map(s=>s.index)),this.lanes?.light(e.steps.length?e.steps:null),this.panel(vn(e,this.steps,{request:s=>this.choose(s),timeline:(s,i,r)=>this.timeline(s,i,r),
close:()=>this.choose(null)})))}async showStep(t){let n=this.chosen,e=this.steps?.lanes[t.lane],s=await M("load/step",{run:this.run.id,lane:t.lane,step:t.step});
if(n!==this.chosen||!this.steps||!e)return;this.latency.chosen=-1,this.latency.again(),this.bars.light(-1,s.with.map(r=>r.index)),this.lanes?.light([t]);let i=this.
timeline(t.lane,e.from[t.step],e.to[t.step]);this.panel(o("aside",{class:"panel","aria-label":"Step "+t.step},o("header",null,o("h2",null,`Step ${t.step}`),o("b\
utton",{class:"quiet",title:"Close (Esc)","aria-label":"Close",on:{click:()=>this.choose(null)}},"×")),o("p",null,o("code",null,this.steps.names[e.name[t.step]])),
o("dl",null,o("dt",null,"where"),o("dd",null,ct(e)),o("dt",null,"kind"),o("dd",null,this.steps.kinds[e.kind[t.step]]),o("dt",null,"from"),o("dd",null,g(e.from[t.
step])),o("dt",null,"took"),o("dd",null,g(e.to[t.step]-e.from[t.step]))),i&&o("p",null,o("a",{href:i},"see it in the timeline")),o("section",null,o("h3",null,s.
with.length?"Requests in it":"No request of this load was in it"),o("p",{class:"chips"},...s.with.map(r=>o("button",{class:"chip",title:r.id,on:{click:()=>this.
choose(r.index)}},String(r.index)))))))}timeline(t,n,e){let s=this.steps?.lanes[t];if(!s)return null;let i=Math.max((e-n)*.05,1e4);return $(P(this.store.params,
{tab:"timeline",c:this.run.id,t0:n+s.shift-i,t1:e+s.shift+i}))}join(t){this.steps=t;let n=o("canvas",{tabindex:"0",role:"img","aria-label":"Recorded steps over \
time"});x(this.strip,o("figure",null,o("figcaption",null,o("span",null,"Steps that were recorded"),o("span",{class:"keys"},...t.kinds.map((e,s)=>wn(["k0","k1","\
k2","k3","k4"][["decode","prefill","mixed","other","idle"].indexOf(e)]??"k"+s%5,e)),o("button",{class:"link",title:"Key: c",on:{click:()=>this.captured()}},"zoo\
m to them"))),n)),this.lanes=new Ut(n,this.run.plots,this.view,t),this.lanes.whenChosen=e=>this.store.set({req:null,lane:e.lane,pass:e.step},"push"),this.plots.
push(this.lanes),this.lanes.draw(),x(this.slow,o("h3",null,"What the slow ones waited for",o("span",{class:"soft"},t.steps_by==="time"?", by time":", by request\
 id")),o("div",{class:"tails"},this.run.plots.embedding?null:this.tail("TTFT",t.ttft),this.tail("Time between tokens",t.itl)),...t.notes.map(e=>o("p",{class:"so\
ft"},e))),this.chosen="",this.follow(this.store.params)}unjoined(t){x(this.strip,o("p",{class:"soft"},"What the requests waited for in recorded steps is not kno\
wn: "+t))}tail(t,n){let e=[...new Set(n.cases)];return o("div",null,o("h4",null,t,o("span",{class:"soft"},n.n?`, p99 of ${n.n}: ${g(n.p99_ns)}`:"")),e.length===
0?o("p",{class:"soft"},"none in the recorded window"):Wt(n.parts,!0),n.below&&o("p",{class:"soft"},"none at or above p99 is in the recorded window: this is the \
slowest one in it"),o("p",{class:"chips"},...e.slice(0,24).map(s=>o("button",{class:"chip",title:"what request "+s+" waited for",on:{click:()=>this.choose(s)}},
String(s)))))}};function wn(a,t){let n=o("i");return n.style.background=`var(--${a})`,o("span",{class:"key"},n,t)}function ss(a){return o("section",{class:"comp\
ared"},o("h3",null,"B against A"),o("dl",null,o("dt",null,"A"),o("dd",null,a.sides[0]),o("dt",null,"B"),o("dd",null,a.sides[1])),o("p",{class:"verdict"},a.verdict),
a.unlike.length>0&&o("ul",null,...a.unlike.map(t=>o("li",null,t))),...a.tables.map(t=>Me(t)),...a.notes.map(t=>o("p",{class:"soft"},t)))}function xn(a,t){return JSON.stringify([a.run??t.session.run,a.rep,a.vs])}var Se=class{constructor(t){this.context=t;let{keys:n}=t,e=s=>()=>this.page&&s(this.page);
n.bind("w +","Benchmark","zoom in",e(s=>s.zoom(.5))),n.bind("s -","Benchmark","zoom out",e(s=>s.zoom(2))),n.bind("a","Benchmark","go to earlier",e(s=>s.pan(-.25))),
n.bind("d","Benchmark","go to later",e(s=>s.pan(.25))),n.bind("0","Benchmark","show the whole run",e(s=>s.whole())),n.bind("c","Benchmark","show the captured wi\
ndow",e(s=>s.captured())),n.bind("j","Benchmark","the next request",e(s=>s.next(1))),n.bind("k","Benchmark","the request before",e(s=>s.next(-1))),n.bind("Escap\
e","Benchmark","let go of what is chosen",e(s=>s.release())),this.open()}context;el=o("div",{class:"bench"});page=null;shown="";gone=new AbortController;update(t){
xn(t,this.context)===this.shown?this.page?.follow(t):this.open()}restyle(){this.page?.restyle()}close(){this.gone.abort(),this.page?.close()}open(){let{store:t,
session:n}=this.context,e=t.params,s=e.run??n.run;this.close(),this.page=null,this.shown=xn(e,this.context),this.gone=new AbortController,s===""?this.choose():this.
show(s,e.rep,e.vs)}async choose(){let{signal:t}=this.gone,n=await M("load/runs",{},t);if(t.aborted)return;if(n.length===0){x(this.el,o("div",{class:"none"},o("h\
2",null,"No benchmark run yet"),o("p",null,"One is kept by each ",o("code",null,"stepscope bench serving --url http://HOST:30000"),"; with ",o("code",null,"--pr\
ofile")," its steps are recorded meanwhile.")));return}let e=["request throughput","output throughput","TTFT p50","TTFT p99","ITL p50","ITL p99"];x(this.el,o("h\
2",null,"Benchmark runs"),o("div",{class:"scroll"},o("table",null,o("thead",null,o("tr",null,o("th",null,"run"),o("th",null,"model"),o("th",null,"tags"),...e.map(
s=>o("th",{class:"r"},s)),o("th",null,"steps"))),o("tbody",null,...n.map(s=>o("tr",null,o("td",null,o("a",{href:this.at({run:s.id})},s.id),s.status!=="complete"&&
o("span",{class:"soft"}," "+s.status)),o("td",null,s.model),o("td",null,s.tags.join(", ")),...e.map(i=>{let r=s.numbers.find(h=>h.name===i);return o("td",{class:"\
r"},r?`${r.value.toPrecision(3)} ${r.unit??""}`:"–")}),o("td",null,s.traces>0?"recorded":"")))))))}at(t){return $(P(this.context.store.params,{tab:"bench",...t}))}async show(t,n,e){
let{signal:s}=this.gone,{store:i,session:r}=this.context,h={run:t,rep:n},l=e===void 0||e===t?null:{run:e},[d,p,u,m]=await Promise.all([M("load",h,s),M("load/req\
uests",h,s),l&&M("load",l,s),l&&M("load/compare",{run:t,vs:e},s)]);if(s.aborted)return;let c=this.page=new Kt(i,d,p,u,m);x(this.el,c.el),c.start();let f=c.against;
if(!r.exported){let b=await M("load/runs",{},s);if(s.aborted)return;x(f,o("option",{value:""},"no other run"),...b.filter(v=>v.id!==t).map(v=>o("option",{value:v.
id},[v.id,...v.tags].join(" ")))),f.value=e??"",f.addEventListener("change",()=>i.set({vs:f.value||null},"push")),f.disabled=f.options.length<2}if(d.recorded)try{
let b=await M("load/steps",{run:t},s);!s.aborted&&b.rep===d.rep?c.join(b):s.aborted||c.unjoined(`steps were recorded in repetition ${b.rep+1} of this load`)}catch(b){
if(s.aborted)return;c.unjoined(b instanceof Error?b.message:String(b))}}},yn={id:"bench",title:"Benchmark",needs:"runs",open:a=>new Se(a)};var Xt=["running","queued","tokens","usage"];var mt=class{samples;constructor(t){this.samples=Array.from({length:t},()=>[])}add(t){let n=this.samples[t.server];if(!n)return;n.push(t);let e=n.findIndex(s=>s.
at_ms>=t.at_ms-6e5);e>0&&n.splice(0,e)}last(t){return this.samples[t].at(-1)}ranks(t){return[...new Set(this.samples[t].flatMap(n=>n.ranks.map(e=>e.dp)))].sort(
(n,e)=>n-e)}line(t,n,e){let s=this.samples[t];return{at:s.map(i=>i.at_ms),values:s.map(i=>i.ranks.find(r=>r.dp===n)?.[e]??null)}}span(t){let n=Math.min(...this.
samples.map(e=>e[0]?.at_ms??t));return Math.min(Math.max(t-n,6e4),6e5)}total(t){let n=new Map,e={at:[],values:[]};for(let s of this.samples.flat().sort((i,r)=>i.
at_ms-r.at_ms)){n.set(s.server,s.error?null:tt(s.ranks.map(r=>r[t])));let i=[...n.values()];e.at.push(s.at_ms),e.values.push(i.includes(null)?null:tt(i))}return e}top(t){
let n=0;for(let e of this.samples.flat())for(let s of e.ranks)n=Math.max(n,s[t]??0);return n}};function tt(a){let t=a.filter(n=>n!==null);return t.length?t.reduce(
(n,e)=>n+e,0):null}function kn(a,t,{now:n,span:e},s,i){let r=[],h=[];return a.values.forEach((l,d)=>{if(l===null||a.at[d]<n-e){h.length&&r.push(h),h=[];return}h.push([s*(1-(n-a.at[d])/
e),i*(1-Math.min(l/(t||1),1))])}),h.length&&r.push(h),r}function Mn(a,t,n,e,s,i){a.strokeStyle=a.fillStyle=n;for(let r of t){a.beginPath();for(let[h,l]of r)a.lineTo(
e+h,s+l);r.length===1&&a.lineTo(e+r[0][0]+1,s+r[0][1]),a.stroke(),a.lineTo(e+r[r.length-1][0],i),a.lineTo(e+r[0][0],i),a.globalAlpha=.15,a.fill(),a.globalAlpha=
1}}var Vt=26,Gt=class{constructor(t){this.color=t}color;canvas=o("canvas",{"aria-hidden":"true"});draw(t,n,e){let s=window.devicePixelRatio||1,i=this.canvas.getContext(
"2d"),r=this.canvas.clientWidth;if(!i||r===0)return;this.canvas.width=Math.round(r*s),this.canvas.height=Math.round(Vt*s),i.setTransform(s,0,0,s,0,0);let h=at();
i.fillStyle=h("line"),i.fillRect(0,Vt-1,r,1),i.lineWidth=1.25,Mn(i,kn(t,n,e,r,Vt-3),h(this.color),0,1.5,Vt)}},ft=class extends O{constructor(n,e){super(n,120,{left:52,
bottom:20});this.text=e}text;lines=[];sight={now:0,span:1};show(n,e){this.lines=n,this.sight=e,this.draw()}paint(n){let{ctx:e,area:s,color:i}=n,{now:r,span:h}=this.
sight,l=Math.max(...this.lines.flatMap(d=>d.line.values.map((p,u)=>d.line.at[u]>=r-h?p??0:0)),0)*1.08||1;this.yAxis(n,l,this.text),e.fillStyle=i("soft"),e.textBaseline=
"top";for(let[d,p]of[[0,"left"],[.5,"center"],[1,"right"]])e.textAlign=p,e.fillText(d===1?"now":"−"+g(Math.round(h*(1-d)/1e3)*1e9).replace(/\.0+ /," "),s.x+s.
w*d,s.y+s.h+5);e.lineWidth=1.5;for(let d of this.lines)Mn(e,kn(d.line,l,this.sight,s.w,s.h),i(d.color),s.x,s.y,s.y+s.h)}};var Sn={running:"running",queued:"queued",tokens:"tokens/s",usage:"KV cache"},bt={running:"k0",queued:"k3",tokens:"compute",usage:"k2"};function et(a,t){return t==
null?"–":a==="usage"?F(t):T(t<10&&!Number.isInteger(t)?t.toFixed(1):String(Math.round(t)))}var Te=class{constructor(t,n,e){this.server=t;this.dp=n;this.cells=
Xt.map(s=>({measure:s,value:o("b"),spark:new Gt(bt[s])})),this.el=o("tr",null,o("th",{scope:"row"},e),...this.cells.map(s=>o("td",{data:{title:Sn[s.measure]}},o(
"div",{class:"cell"},s.spark.canvas,s.value))))}server;dp;el;cells;draw(t,n,e){let s=t.last(this.server)?.ranks.find(i=>i.dp===this.dp);for(let i of this.cells)
i.value.textContent=et(i.measure,s?.[i.measure]),i.spark.draw(t.line(this.server,this.dp,i.measure),n[i.measure],e)}},Ae=class{constructor(t){this.context=t;this.
steps.value=String(A(t.store.params,"steps",10)),this.steps.addEventListener("change",()=>t.store.set({steps:Math.min(Math.max(Number(this.steps.value)||10,1),1e4)})),
t.keys.bind("r","Live","record a window of all ranks",()=>{this.record()}),x(this.el,o("p",{class:"soft"},"Asking the servers…")),this.events=new EventSource(
"api/live"),this.on("hello",n=>this.hello(n)),this.on("sample",n=>this.sample(n)),this.on("capture",n=>this.capture(n)),this.events.addEventListener("error",()=>this.
lost("stepscope does not answer: has it been ended?"))}context;el=o("div",{class:"live"});events;history=new mt(0);servers=[];rows=new Map;cards=o("div",{class:"\
cards"});body=o("tbody");trouble=o("p",{class:"lost",role:"status",hidden:!0});shot=o("section",{class:"shot"});steps=o("input",{type:"number",min:"1",max:"1000\
0","aria-label":"Forward steps"});button=o("button",{class:"button",on:{click:()=>{this.record()}}},"Record");told=o("div",{class:"told","aria-live":"polite"});requests=new ft(
o("canvas",{role:"img","aria-label":"Requests running and queued over the last minutes"}),t=>et("running",t));output=new ft(o("canvas",{role:"img","aria-label":"\
Output tokens a second over the last minutes"}),t=>et("tokens",t));awaited=0;pending=0;on(t,n){this.events.addEventListener(t,e=>n(JSON.parse(e.data)))}update(){
this.steps.value=String(A(this.context.store.params,"steps",10))}restyle(){this.draw()}close(){this.events.close(),cancelAnimationFrame(this.pending),this.requests.
drop(),this.output.drop()}lost(t){this.trouble.hidden=t==="",this.trouble.textContent=t}hello(t){this.servers=t.servers,this.history=new mt(t.servers.length);for(let e of t.
samples)this.history.add(e);this.rows.clear(),this.lost(""),x(this.shot,o("label",null,"Record ",this.steps," forward steps of all ranks "),this.button,this.told),
this.button.disabled=!t.records,t.records||x(this.told,o("p",{class:"soft"},"There is no place to keep what is recorded: give --run-dir."));let n=(e,s)=>{let i=o(
"i");return i.style.background=`var(--${bt[e]})`,o("span",{class:"key"},i,s)};x(this.el,this.trouble,this.cards,this.shot,o("div",{class:"together"},o("figure",
null,o("figcaption",null,"Requests ",n("running","running"),n("queued","queued")),this.requests.canvas),o("figure",null,o("figcaption",null,"Output tokens/s"),this.
output.canvas)),o("div",{class:"scroll"},o("table",{class:"ranks"},o("thead",null,o("tr",null,o("th",{scope:"col"},"rank"),...Xt.map(e=>o("th",{scope:"col"},Sn[e])))),
this.body)),o("p",{class:"soft"},`Servers are asked every ${g(t.every_ms*1e6)} while a page shows them. All ranks are drawn to one scale.`)),t.capture&&this.capture(
t.capture),this.draw()}sample(t){this.history.add(t),this.draw()}draw(){cancelAnimationFrame(this.pending),this.pending=requestAnimationFrame(()=>this.paint())}paint(){
let t=this.servers.map((c,f)=>this.history.last(f)),n=Math.max(...t.map(c=>c?.at_ms??0)),e=Object.fromEntries(Xt.map(c=>[c,c==="usage"?1:this.history.top(c)])),
s=[];this.servers.forEach((c,f)=>{for(let b of this.history.ranks(f)){let v=`${f} ${b}`,w=this.history.ranks(f).length>1,y=[this.servers.length>1?[c.role,c.name].
filter(S=>S).join(" "):"",w?"DP"+String(b).padStart(2,"0"):""].filter(S=>S!=="").join(" ")||c.name,k=this.rows.get(v);(!k||k.el.cells[0].textContent!==y)&&this.
rows.set(v,k=new Te(f,b,y)),s.push(k)}}),(s.length!==this.body.rows.length||s.some((c,f)=>this.body.rows[f]!==c.el))&&x(this.body,...s.map(c=>c.el));let i={now:n,
span:this.history.span(n)};for(let c of s)c.draw(this.history,e,i);this.requests.show([{line:this.history.total("running"),color:bt.running},{line:this.history.
total("queued"),color:bt.queued}],i),this.output.show([{line:this.history.total("tokens"),color:bt.tokens}],i);let r=t.flatMap(c=>c?.ranks??[]),h=c=>t.map(f=>f?.[c]).
filter(f=>f!=null).sort((f,b)=>b.p99_ns-f.p99_ns)[0],l=r.map(c=>c.usage).filter(c=>c!==null),d=h("ttft"),p=h("itl"),u=(c,f,b)=>o("div",{class:"card"},o("span",null,
c),o("b",null,f),o("span",null,b));x(this.cards,u("Running",et("running",tt(r.map(c=>c.running))),"requests"),u("Queued",et("queued",tt(r.map(c=>c.queued))),"re\
quests"),u("Output",et("tokens",tt(t.map(c=>c?.tokens??null))),"tokens/s"),u("KV cache",l.length?F(Math.max(...l)):"–",r.length>1?"of the rank that uses most":
"in use"),u("TTFT",d?g(d.p50_ns):"–",d?"median now; p99 "+g(d.p99_ns):"no first token just now"),u("Between tokens",p?g(p.p50_ns):"–",p?"median now; p99 "+g(
p.p99_ns):"no token just now"));let m=t.map((c,f)=>c?.error?`${this.servers[f].name}: ${c.error}`:c?.restarted?`${this.servers[f].name} was started anew`:"").filter(
c=>c!=="");this.lost(m.join("; ")),this.el.dataset.drawn=String(n)}async record(){if(!this.button.disabled)try{if(this.button.dataset.stops){await se("live/stop",
{});return}let t=Math.min(Math.max(Math.round(Number(this.steps.value))||10,1),1e4);this.awaited=(await se("live/capture",{steps:t})).n}catch(t){x(this.told,o("\
p",{class:"bad"},t instanceof Error?t.message:String(t)))}}capture(t){let n=t.state==="recording",{store:e}=this.context;this.button.textContent=n?"Stop":"Recor\
d",n?this.button.dataset.stops="1":delete this.button.dataset.stops,this.steps.disabled=n;let s=t.state==="done"&&o("p",null,"Kept as run ",o("button",{class:"l\
ink",on:{click:()=>this.open(t.run)}},t.run),".");x(this.told,n&&o("p",null,`Recording ${t.steps} steps…`),(t.state==="failed"||t.state==="stopped")&&o("p",{class:"\
bad"},t.error),s,t.now.length>0&&o("pre",null,t.now.join(`
`)),t.lines.length>0&&o("details",{open:t.state==="failed"},o("summary",null,"What it said"),o("pre",null,t.lines.join(`
`)))),this.told.dataset.state=t.state,t.state==="done"&&t.n===this.awaited&&(this.awaited=0,e.params.tab==="live"&&this.open(t.run))}open(t){let{store:n}=this.context;
n.go(P(n.params,{tab:"summary",c:t,run:null}))}};function is(){return{el:o("div",{class:"live none"},o("h2",null,"No server is shown"),o("p",null,"Give its URL:\
 ",o("code",null,"stepscope view --url http://HOST:30000"),". Its requests, tokens and cache are then shown here, rank by rank, and windows of all ranks can be \
recorded."))}}var Tn={id:"live",title:"Live",needs:"server",open:a=>a.session.live?new Ae(a):is()};var Ee={id:"runs",title:"Runs",needs:"runs",open:()=>({el:o("div",null)})};var Re=[ie,hn,dn,un,yn,Tn,Ee],B=document.documentElement,An=matchMedia("(prefers-color-scheme: dark)");function Yt(a){if(a instanceof DOMException&&a.name==="Ab\
ortError")return;let t=a instanceof Error?a.message:String(a);B.dataset.error??=t,gt.hidden=!1,x(gt,t)}addEventListener("error",a=>Yt(a.error??a.message));addEventListener(
"unhandledrejection",a=>Yt(a.reason));var gt=o("p",{class:"trouble",role:"alert",hidden:!0}),nt=o("main",{id:"main",tabindex:"-1"}),Le=class{constructor(t){this.
session=t;let n=Re.filter(e=>this.offers(e));document.body.replaceChildren(o("a",{class:"skip",href:"#main",on:{click:e=>(e.preventDefault(),nt.focus())}},"Skip\
 to the view"),o("header",{class:"bar"},o("h1",null,"stepscope"),this.nav,o("span",{class:"space"}),this.picker,o("button",{class:"quiet",title:"Light or dark (\
key: \\)","aria-label":"Light or dark",on:{click:()=>this.turn()}},"◐"),o("button",{class:"quiet",title:"Keys (key: ?)","aria-label":"Keys",on:{click:()=>dispatchEvent(
new KeyboardEvent("keydown",{key:"?"}))}},"?")),gt,nt),n.forEach((e,s)=>this.keys.bind(String(s+1),"Everywhere","show "+e.title,()=>this.open(e.id))),this.keys.
bind("\\","Everywhere","light or dark",()=>this.turn()),this.picker.addEventListener("change",()=>this.store.go(P(this.store.params,{tab:this.tab().id,c:this.picker.
value}))),this.store.follow((e,s)=>this.change(e,s)),An.addEventListener("change",()=>this.paint()),He(()=>this.ready()),this.change(this.store.params,{})}session;store=new xt;keys=new wt;view=null;shown="";loose=[];nav=o(
"nav",{"aria-label":"Views"});picker=o("select",{"aria-label":"Capture",class:"capture"});offers(t){switch(t.needs){case"capture":return this.session.captures.length>
0||this.session.runs;case"server":return!this.session.exported;case"runs":return this.session.runs;case"nothing":return!0}}tab(){let{tab:t}=this.store.params,n=Re.
filter(s=>this.offers(s)),e=this.session.captures.length>0?ie:Ee;return n.find(s=>s.id===t)??n.find(s=>s===e)??n[0]}open(t){this.store.go(P(this.store.params,{tab:t}))}turn(){
this.store.set({theme:B.dataset.theme==="dark"?"light":"dark"})}paint(){let{theme:t}=this.store.params,n=B.dataset.theme;B.dataset.theme=t==="light"||t==="dark"?
t:An.matches?"dark":"light",B.dataset.theme!==n&&this.view?.restyle?.()}change(t,n){delete B.dataset.ready,this.paint();let e=this.tab(),s=this.session.captures,
i=s.find(h=>h.id===t.c)??(t.c===void 0?s[0]:void 0),r=JSON.stringify([e.id,t.c??s[0]?.id]);r===this.shown?this.view?.update?.(t,n):this.show(e,r,{session:this.session,
store:this.store,keys:this.scoped(),capture:i}),this.head(e,t),rt()&&this.ready()}scoped(){for(let e of this.loose.splice(0))e();let t=this.keys,n=this.loose;return Object.
assign(Object.create(t),{bind(...e){let s=t.bind(...e);return n.push(s),s}})}show(t,n,e){this.view?.close?.(),this.shown=n,gt.hidden=!0,delete B.dataset.error;try{
this.view=t.open(e),nt.className="view-"+t.id,nt.replaceChildren(this.view.el)}catch(s){this.view=null,nt.replaceChildren(),Yt(s)}}head(t,n){x(this.nav,...Re.filter(
s=>this.offers(s)).map(s=>o("a",{href:$(P(n,{tab:s.id})),"aria-current":s===t?"page":null},s.title)));let e=this.session.captures;this.picker.hidden=e.length<2,
this.picker.hidden||(x(this.picker,...e.map(s=>o("option",{value:s.id},s.title))),this.picker.value=n.c??e[0].id),document.title=`${t.title} · ${e.find(s=>s.id===
n.c)?.title??e[0]?.title??"runs"} · stepscope`}ready(){requestAnimationFrame(()=>requestAnimationFrame(()=>{rt()&&(B.dataset.ready="1")}))}};document.body.replaceChildren(
gt,nt);M("session").then(a=>new Le(a)).catch(Yt);})();
