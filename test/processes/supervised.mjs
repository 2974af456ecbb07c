// A child for supervisor.test.ts. BEHAVIOUR selects what it does.
const { BEHAVIOUR, FILE } = process.env;
const { appendFileSync, writeFileSync } = await import('node:fs');
appendFileSync(FILE, `${process.pid}\n`);
writeFileSync(`${FILE}.options`, process.execArgv.join(' '));
if (BEHAVIOUR === 'fails') process.exit(3);
process.on('SIGTERM', () => BEHAVIOUR !== 'stubborn' && process.exit(0));
process.send('ready');
setInterval(() => undefined, 1000);
