"use strict";(()=>{function w(t){let[e,n]=t.split("."),s=e.replace(/\B(?=(\d{3})+$)/g,",");return n===void 0?s:s+"."+n}function v(t){if(t===0)return"0";let e=Math.floor(Math.log10(
Math.abs(t)));return Math.abs(t)>=Math.pow(10,e+1)*(1-5e-4)&&e++,w(t.toFixed(Math.min(Math.max(2-e,0),20)))}function F(t,e){let n=e[e.length-1];if(t===0)return"\
0 "+n[1];for(let[s,i]of e)if(Math.abs(t)/s>=.9995)return(s===1&&Number.isInteger(t)?w(String(t)):v(t/s))+" "+i;return v(t)+" "+n[1]}function R(t){return F(t,[[1e9,
"s"],[1e6,"ms"],[1e3,"µs"],[1,"ns"]])}function P(t){return v(t*100)+" %"}function E(t,e){if(!(t>0))return[0];let n=t/e,s=Math.pow(10,Math.floor(Math.log10(n))),i=[1,2,5,10].find(a=>a*s>=n*.999)||10,l=[];for(let a=0;a<=t*1.0001;a+=i*s)
l.push(a);return l}function X(){let{theme:t}=document.documentElement.dataset;return t==="dark"||t!=="light"&&matchMedia("(prefers-color-scheme: dark)").matches}function Y(){let t=getComputedStyle(
document.documentElement),e=X()?2:1;return n=>/light-dark\(\s*([^,]+?)\s*,\s*([^)]+?)\s*\)/.exec(t.getPropertyValue("--"+n))?.[e]??"#888888"}var b=[];function B(t){
let e=document.documentElement;matchMedia("(prefers-color-scheme: dark)").addEventListener("change",t),addEventListener("beforeprint",()=>{e.dataset.theme="ligh\
t",e.dataset.print="1",document.querySelectorAll("details").forEach(n=>n.open=!0),t()}),addEventListener("afterprint",()=>{delete e.dataset.theme,delete e.dataset.
print,t()}),t(),e.dataset.ready="1"}var y=class{constructor(e,n,s={}){this.height=n;this.canvas=typeof e=="string"?document.getElementById(e):e,this.left=s.left??
58,this.bottom=s.bottom??22,this.canvas.style.height=n+"px",b.push(this),this.sizes=new ResizeObserver(()=>requestAnimationFrame(()=>this.canvas.clientWidth===this.
width||this.draw())),this.sizes.observe(this.canvas)}height;canvas;left;bottom;width=0;ground=null;sizes;drop(){this.sizes.disconnect(),b.splice(b.indexOf(this),
1)}area(){return{x:this.left,y:6,w:Math.max(this.canvas.clientWidth-this.left-8,10),h:this.height-this.bottom-6}}draw(){let e=this.canvas.clientWidth,n=window.devicePixelRatio||
1;if(e===0)return;this.width=e,this.canvas.width=Math.round(e*n),this.canvas.height=Math.round(this.height*n);let s=this.pen();s&&(this.paint(s),this.ground??=document.
createElement("canvas"),this.ground.width=this.canvas.width,this.ground.height=this.canvas.height,this.ground.getContext("2d")?.drawImage(this.canvas,0,0),this.
mark(s),this.canvas.dataset.drawn="1")}again(){let e=this.pen();if(!e||!this.ground||this.width!==this.canvas.clientWidth)return this.draw();e.ctx.setTransform(
1,0,0,1,0,0),e.ctx.clearRect(0,0,this.canvas.width,this.canvas.height),e.ctx.drawImage(this.ground,0,0),this.mark({...e,ctx:this.sharp(e.ctx)})}sharp(e){let n=window.
devicePixelRatio||1;return e.setTransform(n,0,0,n,0,0),e}pen(){let e=this.canvas.getContext("2d");return e?(this.sharp(e).font="11px system-ui, sans-serif",{ctx:e,
area:this.area(),color:Y()}):null}paint(e){}mark(e){}yAxis({ctx:e,area:n,color:s},i,l){e.textAlign="right",e.textBaseline="middle";let a=Math.max(n.h/45,2),h=E(
i,a);for(let d=a+1;h.length<3&&d<a+6;d++)h=E(i,d);for(let d of h){let f=n.y+n.h*(1-d/i);e.fillStyle=s("line"),e.fillRect(n.x,Math.round(f),n.w,1),e.fillStyle=s(
"soft"),e.fillText(l(d),n.x-6,f)}}};function D(){let t=document.getElementById("tip");if(t)return t;let e=document.createElement("div");return e.id="tip",e.setAttribute(
"role","status"),document.body.appendChild(e)}function H(t,e,n,s){let i=D(),l=document.createElement("dl");for(let[p,o]of s.rows){let c=document.createElement("\
dt"),r=document.createElement("dd");c.textContent=p,r.textContent=o,l.append(c,r)}let a=document.createElement("strong");a.textContent=s.title,i.replaceChildren(
a,l),i.hidden=!1;let h=t.getBoundingClientRect(),d=i.getBoundingClientRect(),f=document.documentElement.clientWidth,m=h.left+e+14;m+d.width>f-8&&(m=Math.max(h.left+
e-14-d.width,4));let u=h.top+n+14;u+d.height>window.innerHeight-4&&(u=Math.max(h.top+n-14-d.height,4)),i.style.left=m+window.scrollX+"px",i.style.top=u+window.scrollY+
"px"}function z(){D().hidden=!0}function $(t){let e=t.tBodies[0],n=[...e.rows],s=[...t.tHead?.rows[0].cells??[]],i=t.parentElement,l=n.length<=15,a="",h="",d=s.findIndex(o=>o.textContent==="ki\
nd"),f=d<0?[]:[...new Set(n.map(o=>o.cells[d].textContent??""))],m=document.createElement("button");m.type="button",m.className="more";let u=document.createElement(
"span"),p=()=>{let o=0,c=0;for(let r of e.rows){let g=(a===""||(r.textContent??"").toLowerCase().includes(a))&&(h===""||r.cells[d].textContent===h);g&&o++,r.hidden=
!g||!l&&c>=12,r.hidden||c++}m.hidden=o<=12||n.length<=15,m.textContent=l?"Show the first 12 only":`Show all ${o}`,u.textContent=a===""?"":`${o} of ${n.length} r\
ows`};if(m.addEventListener("click",()=>{l=!l,p()}),t.addEventListener("reveal",()=>{l=!0,a=h="",t.parentElement?.previousElementSibling?.querySelectorAll("inpu\
t[type=search], select").forEach(o=>o.value=""),p()}),s.forEach((o,c)=>{if(!o.textContent)return;let r=document.createElement("button");r.type="button",r.textContent=
o.textContent,o.replaceChildren(r),r.addEventListener("click",()=>{let g=n.some(x=>x.cells[c].dataset.v!==void 0),C=o.ariaSort,L=C?C==="ascending":g;for(let x of s)
x.removeAttribute("aria-sort");o.ariaSort=L?"descending":"ascending",n.sort((x,W)=>{let T=x.cells[c],S=W.cells[c],A=g?Number(T.dataset.v??0)-Number(S.dataset.v??
0):(T.textContent??"").localeCompare(S.textContent??"");return L?-A:A}),e.append(...n),p()})}),n.length>8||t.dataset.names){let o=document.createElement("div");
if(o.className="tabletools",f.length>1&&n.length>8){let c=document.createElement("label"),r=document.createElement("select");r.add(new Option("every kind",""));
for(let g of f)r.add(new Option(g==="all"?"all together":g,g));f.includes("all")&&(h=r.value="all"),r.addEventListener("change",()=>{h=r.value,p()}),c.append("S\
teps of kind ",r),o.append(c)}if(n.length>8){let c=document.createElement("label"),r=document.createElement("input");r.type="search",r.addEventListener("input",
()=>{a=r.value.trim().toLowerCase(),p()}),c.append("Filter ",r),o.append(c,u),u.setAttribute("role","status")}if(t.dataset.names){let c=document.createElement("\
label"),r=document.createElement("input");r.type="checkbox",r.addEventListener("change",()=>t.classList.toggle("names",r.checked)),c.append(r," full names"),o.append(
c)}i.before(o)}i.after(m),p()}function I(t,e){return e==="ns"?R(t):e==="share"?P(t):t===0?"0":e==="count"?w(String(t)):v(t)+"/s"}var N=t=>"k"+t%5,q=t=>[[],[6,4],[2,3],[8,3,2,3]][Math.floor(t/
5)%4],k=class extends y{constructor(n,s){super(s.id,220,{left:64,bottom:26});this.data=n;this.panel=s;this.canvas.addEventListener("pointermove",i=>{let l=this.
area(),a=0;n.ticks.forEach((h,d)=>{Math.abs(this.x(h.at,l)-i.offsetX)<Math.abs(this.x(n.ticks[a].at,l)-i.offsetX)&&(a=d)}),this.point(a,i.offsetX,i.offsetY)}),this.
canvas.addEventListener("pointerleave",()=>this.point(-1)),this.canvas.addEventListener("blur",()=>this.point(-1)),this.canvas.addEventListener("keydown",i=>{let l=n.
ticks.length-1;if(i.key==="ArrowRight")this.point(Math.min(this.i+1,l));else if(i.key==="ArrowLeft")this.point(Math.max(this.i-1,0));else if(i.key==="Escape")this.
point(-1);else return;i.preventDefault()})}data;panel;i=-1;x(n,s){return s.x+14+(s.w-28)*n}point(n,s,i){if(this.i=n,this.draw(),n<0)return z();let{panel:l,data:a}=this,
h=a.series.map((d,f)=>{let m=l.values[f][n];return[d||l.title,m===null?"–":I(m,l.unit)]});H(this.canvas,s??this.x(a.ticks[n].at,this.area()),i??20,{title:`${l.
title}, ${a.axis} ${a.ticks[n].text}`,rows:h})}paint(n){let{ctx:s,area:i,color:l}=n,{panel:a,data:h}=this,d=0;for(let u of a.values)for(let p of u)d=Math.max(d,
p??0);d=d*1.08||1;let f=u=>i.y+i.h*(1-u/d);this.yAxis(n,d,u=>I(u,a.unit)),s.textBaseline="top",s.textAlign="center";let m=-1/0;h.ticks.forEach((u,p)=>{let o=this.
x(u.at,i),c=s.measureText(u.text).width/2;s.fillStyle=l(p===this.i?"soft":"line"),s.fillRect(Math.round(o),i.y,1,i.h),!(o-c<m+6)&&(m=o+c,s.fillStyle=l("soft"),s.
fillText(u.text,o,i.y+i.h+6))}),a.values.forEach((u,p)=>{s.strokeStyle=s.fillStyle=l(N(p)),s.lineWidth=2,s.setLineDash(q(p)),s.beginPath();let o=!0;u.forEach((c,r)=>{
if(c===null)return void(o=!0);let g=this.x(h.ticks[r].at,i);o?s.moveTo(g,f(c)):s.lineTo(g,f(c)),o=!1}),s.stroke(),s.setLineDash([]),u.forEach((c,r)=>{c!==null&&
(s.beginPath(),s.arc(this.x(h.ticks[r].at,i),f(c),r===this.i?5:3.5,0,7),s.fill())})})}},_=document.documentElement,O=t=>{_.dataset.error??=String(t)};addEventListener(
"error",t=>O(t.message));var M=JSON.parse(document.getElementById("data")?.textContent??"{}");try{for(let t of document.querySelectorAll(".series"))M.series.forEach(
(e,n)=>{let s=document.createElement("span"),i=document.createElement("i");s.className="key",i.style.background=`var(--${N(n)})`,q(n).length&&(i.style.opacity=String(
1-.25*Math.floor(n/5))),s.append(i,e),t.append(s)});M.panels.forEach(t=>new k(M,t)),document.querySelectorAll("main .scroll table").forEach(t=>$(t))}catch(t){O(
t)}B(()=>b.forEach(t=>t.draw()));})();
