import { expect, test } from 'vitest';
import { compileCatalog } from '../../src/catalog/compiled-catalog.ts';
import { CatalogBuilder } from '../engine/catalog-builder.ts';

const DAY = 20_500;

/** How often compiling the plan of a metric reads the points system of a trigger, with this number of systems with a trigger each. */
function readsOfTriggers(systems: number): number {
  const builder = new CatalogBuilder();
  const metric = builder.metric('flips');
  let reads = 0;
  for (let at = 0; at < systems; at += 1) {
    const system = builder.system(`system-${at}`);
    const trigger = builder.trigger(system, 'metric', { metricId: metric.id, metricThreshold: 1, points: 1 });
    const { systemId } = trigger;
    Object.defineProperty(trigger, 'systemId', {
      enumerable: true,
      get: () => {
        reads += 1;
        return systemId;
      },
    });
  }
  const compiled = compileCatalog(builder.catalog);
  reads = 0;
  expect(compiled.plan('flips', DAY)?.plan.systems).toHaveLength(systems);
  return reads;
}

test('compiling a plan does not search all triggers for each points system', () => {
  expect(readsOfTriggers(40)).toBeLessThanOrEqual(4 * readsOfTriggers(10));
});
