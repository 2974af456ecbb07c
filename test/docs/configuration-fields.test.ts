import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ACHIEVEMENT } from '../../src/domain/fields/achievement.ts';
import { ATTRIBUTE } from '../../src/domain/fields/attribute.ts';
import { documentFields } from '../../src/domain/fields/document.ts';
import type { Fields } from '../../src/domain/fields/field.ts';
import { LEADERBOARD } from '../../src/domain/fields/leaderboard.ts';
import { METRIC } from '../../src/domain/fields/metric.ts';
import { POINTS_BOOST, POINTS_LEVEL, POINTS_SYSTEM, POINTS_TRIGGER } from '../../src/domain/fields/points.ts';
import { REWARD } from '../../src/domain/fields/reward.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

const TEXT = readFileSync(join(PACKAGE_ROOT, 'docs/configuration.md'), 'utf8');

/** The reference of a list of the document: from its name in bold to the next one, or to the next heading. */
const sectionOf = (list: string): string => {
  const from = TEXT.indexOf(`\n**${list}**`);
  const rest = TEXT.slice(from + 3);
  return rest.slice(0, /\n(?:\*\*|#)/.exec(rest)!.index);
};

/** The values of an enumeration. */
const valuesOf = ({ schema }: Fields[string]): string[] => (schema as { enum?: string[] }).enum ?? [];

test.each<[list: string, fields: Fields]>([
  ['attributes', ATTRIBUTE],
  ['metrics', METRIC],
  ['achievements', ACHIEVEMENT],
  ['pointsSystems', POINTS_SYSTEM],
  ['pointsSystems', POINTS_LEVEL],
  ['pointsSystems', POINTS_TRIGGER],
  ['pointsSystems', POINTS_BOOST],
  ['leaderboards', LEADERBOARD],
  ['rewards', REWARD],
])('docs/configuration.md names every field and type of %s', (list, fields) => {
  const section = sectionOf(list);
  const types = ['trigger', 'type', 'status', 'rankBy'].flatMap((name) => (fields[name] ? valuesOf(fields[name]) : []));
  const names = [...Object.keys(documentFields(fields)), ...types];
  expect(names.length).toBeGreaterThan(2);
  expect(names.filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
});
