// A child for gathered-metrics.test.ts: answers every request with the gathered metrics. BEHAVIOUR selects what it does.
import { createServer } from 'node:http';
import { Counter, Registry } from 'prom-client';
import { metricsText } from '../../dist/src/telemetry/metrics.js';
import { gatheredMetrics } from '../../dist/src/processes/child-process.js';

const { BEHAVIOUR, PORT } = process.env;
const registry = new Registry();
const asked = new Counter({ name: 'asked_total', help: 'Requests.', registers: [registry] });
asked.inc(0);
if (BEHAVIOUR === 'hangs') registry.getMetricsAsJSON = () => new Promise(() => undefined);
const gathered = gatheredMetrics(registry, 'child');
const server = createServer((request, response) => {
  if (request.url === '/die') process.kill(process.pid, 'SIGKILL');
  asked.inc();
  void gathered()
    .then(metricsText)
    .then((text) => response.end(text));
});
process.on('SIGTERM', () => process.exit(0));
server.listen(Number(PORT), '127.0.0.1', () => process.send('ready'));
