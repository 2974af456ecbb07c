import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { noteSpreads } from '../../src/redis/parts.ts';
import { CatalogBuilder } from '../engine/catalog-builder.ts';
import { TestUsers } from '../engine/users/test-users.ts';
import { testDatabase } from '../postgres/database.ts';
import { catalogOf } from './drawn-catalog.ts';
import { randomCatalog } from './random-catalog.ts';
import { randomHistory, type Step } from './random-history.ts';
import { SideBySide } from './side-by-side.ts';
import { opened } from '../stack/opened.ts';

/** A sample on every run; `npm run test:long` is a thorough one. */
const RUNS = Number(process.env['RUNS'] ?? 20);

const READ: Step = { do: 'read' };
/** After this, the last run that has scores and whose ranks are rewarded is final: at noon of the day after at most a week. */
const LONGEST_RUN: Step = { do: 'wait', ms: 9 * 86_400_000 };

const database = opened(() => testDatabase());
const engine = opened(() => new TestUsers(database.stack.redisUrl, new CatalogBuilder().catalog));
beforeAll(async () => {
  await engine.ready();
});

let tenantNo = 100;

test('the engine agrees with the model for any history', { timeout: 300_000 + RUNS * 5_000 }, () =>
  fc.assert(
    fc.asyncProperty(
      randomCatalog,
      randomHistory,
      fc.constantFrom(1, 4),
      async (drawn, { start, homes, steps }, spread) => {
        const startMs = Date.parse(start);
        const catalog = catalogOf(drawn, (tenantNo += 1), startMs);
        noteSpreads(engine.redis, [{ tenantNo, spread, epoch: 1, converting: false }]);
        const both = await SideBySide.start(engine, database.pool, { catalog, startMs, homes });
        for (const step of [...steps, READ, ...(drawn.ranks === null ? [] : [LONGEST_RUN, READ])]) {
          const said = await both.take(step);
          expect(said.engine).toEqual(said.model);
        }
      },
    ),
    { numRuns: RUNS },
  ),
);
