import { Gauge, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { familiesOf, Histogram, labelled, metricsText } from '../../src/telemetry/metrics.ts';

const measured = (observed: Record<string, number[]>): Registry => {
  const registry = new Registry();
  const histogram = new Histogram({ name: 'took_seconds', help: 'How long.', bounds: [0.01, 0.1] });
  histogram.register(registry);
  for (const [operation, values] of Object.entries(observed)) {
    const series = histogram.series({ operation });
    for (const value of values) series.observe(value);
  }
  return registry;
};

test('a histogram counts each observation in the first bucket that contains it and in all above', async () => {
  const text = await measured({ get: [0.005, 0.01, 0.011, 7] }).metrics();
  expect(text.trim().split('\n')).toEqual([
    '# HELP took_seconds How long.',
    '# TYPE took_seconds histogram',
    'took_seconds_bucket{operation="get",le="0.01"} 2',
    'took_seconds_bucket{operation="get",le="0.1"} 3',
    'took_seconds_bucket{operation="get",le="+Inf"} 4',
    'took_seconds_sum{operation="get"} 7.026',
    'took_seconds_count{operation="get"} 4',
  ]);
});

test('a histogram without observations has no values', async () => {
  expect((await measured({}).metrics()).trim()).toBe('# HELP took_seconds How long.\n# TYPE took_seconds histogram');
});

test('the metrics of several processes are one text: each metric once, each value with the name of its process', async () => {
  const lists = await Promise.all(
    [measured({ get: [0.005] }), measured({ get: [0.5], put: [] })].map(async (registry, no) =>
      labelled(await familiesOf(registry), { process: `frontend ${no + 1}` }),
    ),
  );
  const lines = (await metricsText(lists.flat())).split('\n');
  expect(lines.filter((line) => line.startsWith('# TYPE took_seconds'))).toHaveLength(1);
  expect(lines).toContain('took_seconds_count{process="frontend 1",operation="get"} 1');
  expect(lines).toContain('took_seconds_bucket{process="frontend 2",operation="get",le="0.1"} 0');
  expect(lines).toContain('took_seconds_count{process="frontend 2",operation="put"} 0');
});

test('leaves out what is not a number, which could not be sent to another process', async () => {
  const registry = new Registry();
  new Gauge({ name: 'share', help: 'Of nothing.', registers: [registry] }).set(NaN);
  expect(await familiesOf(registry)).toEqual([{ name: 'share', help: 'Of nothing.', type: 'gauge', values: [] }]);
});
