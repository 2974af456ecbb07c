import fc from 'fast-check';
import { expect, test } from 'vitest';
import { configure } from '../../src/catalog/configuration/configure.ts';
import { exportConfiguration } from '../../src/catalog/configuration/export.ts';
import { CatalogDraft } from '../../src/catalog/draft.ts';
import { emptyCatalog, type Catalog } from '../../src/domain/catalog.ts';
import type { Configuration } from '../../src/domain/configuration.ts';
import { dateOf, DAY_MS, dayOf } from '../../src/domain/periods.ts';
import { randomConfiguration } from './random-configuration.ts';

const EMPTY = emptyCatalog(0);
const FIRST_DAY = dayOf('2026-03-01');
const asStored = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** The result of applying the document. */
async function applied(before: Catalog, document: Configuration, day = FIRST_DAY) {
  const draft = new CatalogDraft(before, { nextNo: 1_000 * (day - FIRST_DAY) + 1, nowMs: day * DAY_MS });
  const problems = await configure(draft, document, { today: dateOf(day) });
  const changes = [
    ...(await draft.changes()),
    ...draft.streakChanges(),
    ...draft.eventChanges(),
    ...draft.messageChanges(),
  ];
  return { problems, changes, catalog: asStored(draft.catalog) };
}

/** The IDs that refer to resources. */
const referredIn = ({ achievements, triggers, boosts, levels, leaderboards, streaks }: Catalog): string[] => {
  const parts = [achievements, triggers, boosts, levels, leaderboards].flat();
  const text = JSON.stringify([parts.map((part) => ({ ...part, id: null })), streaks]);
  return [...text.matchAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g)].map(([id]) => id);
};

/** A document whose IDs, which differ elsewhere, are replaced by the position of the resource. */
function numbered(document: Configuration): Configuration {
  const ids = (document.achievements ?? []).map(({ id }) => id);
  const place = (text: string): string => (ids.includes(text) ? `#${ids.indexOf(text)}` : text);
  return JSON.parse(JSON.stringify(document), (_, value: unknown) =>
    typeof value === 'string' ? place(value) : value,
  );
}

test('applying any document again, or its export, changes nothing; the export creates the same elsewhere', async () => {
  let taken = 0;
  const property = fc.asyncProperty(
    randomConfiguration,
    randomConfiguration,
    fc.integer({ min: 1, max: 400 }),
    async (a, b, days) => {
      const first = await applied(EMPTY, a);
      expect(first.problems).toEqual([]);
      // The second document leads to the first's result on a later day; rules about changes may forbid it.
      const second = await applied(first.catalog, b, FIRST_DAY + days);
      const steps = [{ ...first, document: a, day: FIRST_DAY }];
      if (second.problems.length === 0) {
        taken++;
        steps.push({ ...second, document: b, day: FIRST_DAY + days });
      }
      for (const { catalog, document, day } of steps) {
        const known = new Set(
          Object.values(catalog).flatMap((list) => (Array.isArray(list) ? list.map(({ id }) => id) : [])),
        );
        expect(referredIn(catalog).filter((id) => !known.has(id))).toEqual([]);
        for (const later of [day, day + 1_000]) {
          expect(await applied(catalog, document, later)).toMatchObject({ problems: [], changes: [] });
          expect(await applied(catalog, await exportConfiguration(catalog), later)).toMatchObject({
            problems: [],
            changes: [],
          });
        }
        const exported = await exportConfiguration(catalog);
        const elsewhere = await applied(EMPTY, exported, day);
        expect(elsewhere.problems).toEqual([]);
        expect(numbered(await exportConfiguration(elsewhere.catalog))).toEqual(numbered(exported));
      }
    },
  );
  // Not shrunk: a document of many drawn parts takes longer to shrink than to read.
  await fc.assert(property, { numRuns: 200, endOnFailure: true });
  expect(taken).toBeGreaterThan(30);
});
