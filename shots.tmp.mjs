import { chromium } from 'playwright-core';
import { readFileSync, mkdirSync } from 'node:fs';
const out = process.argv[2]; mkdirSync(out, { recursive: true });
const link = process.argv[3];
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const c = await b.newContext({ viewport: { width: 1280, height: 900 } });
const p = await c.newPage(); const errs = [];
p.on('console', (m) => m.type() === 'error' && errs.push(p.url() + ' ' + m.text()));
p.on('pageerror', (e) => errs.push(p.url() + ' ' + e));
await p.goto(link); await p.waitForTimeout(2500);
const links = process.argv[4] ? process.argv[4].split(',') : await p.$$eval('nav a, aside a', (as) => [...new Set(as.map((a) => a.getAttribute('href')))]);
console.log(links);
for (const [w, hgt, n] of [[1280, 900, 'd'], [390, 844, 'p']]) {
  await p.setViewportSize({ width: w, height: hgt });
  for (const l of links) {
    await p.goto(new URL(l, link).href); await p.waitForTimeout(1800);
    const side = await p.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (side > 0) console.log('sideways', n, l, side);
    await p.screenshot({ path: `${out}/${n}-${l.replace(/^.*console\/?/, '').replaceAll('/', '_') || 'home'}.png`, fullPage: true });
  }
}
console.log(errs); await b.close();
