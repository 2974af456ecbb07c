import type { Achievement, StreakSettings } from '../../domain/catalog.ts';
import type { ConfiguredCondition, ConfiguredStreaks } from '../../domain/configuration.ts';
import { documentNames } from '../../domain/fields/document.ts';
import type { Field } from '../../domain/fields/field.ts';
import { FIELDS } from '../../domain/fields/kinds.ts';
import { storedFrom, withDefaults } from '../../domain/fields/wire.ts';
import { daysOffAfter } from '../changed-streaks.ts';
import type { DocumentKind, Fields, ResourceOf } from '../resource-fields.ts';
import type { References } from './references.ts';

/** An item's path in the document, and the document's references. */
export interface Place {
  path: string;
  references: References;
}

/**
 * The stored form of an item of the document.
 * @param options.current the resource that the item describes
 * @param options.today `YYYY-MM-DD`; the start of a new leaderboard without one
 * @param options.systemId the points system that the item is a part of
 */
export function fieldsOf<K extends DocumentKind>(
  kind: K,
  item: object,
  place: Place,
  { current, today, systemId }: { current?: ResourceOf[K] | undefined; today: string; systemId?: string },
): Fields<K> {
  const fields = FIELDS[kind];
  const given: Record<string, unknown> = {};
  const plain: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(fields)) {
    if (one.conditionsOn !== undefined || one.refersTo !== undefined) {
      given[name] = referred({ name, one, item, place, current });
      continue;
    }
    const value = (item as Record<string, unknown>)[name];
    // An item without a first day keeps the day on which its leaderboard was created.
    const kept = one.default === 'today' ? (current as Record<string, unknown> | undefined)?.[name] : undefined;
    if (value !== undefined && (value !== null || one.clearable)) plain[name] = value;
    else if (kept !== undefined) plain[name] = kept;
  }
  const stored = withDefaults(fields, { ...storedFrom(fields, plain), ...given }, today);
  return { ...stored, ...(systemId !== undefined && { systemId }) } as unknown as Fields<K>;
}

interface Reference {
  name: string;
  one: Field;
  item: object;
  place: Place;
  current: object | undefined;
}

/** The stored form of a field that refers to other resources. */
function referred({ name, one, item, place: { path, references }, current }: Reference): unknown {
  const values = item as Record<string, string | undefined> & Record<string, string[] | undefined>;
  if (one.conditionsOn !== undefined)
    return references.conditions(one.conditionsOn, values[name] as ConfiguredCondition[] | undefined, path);
  const names = documentNames(name, one);
  if (one.refersTo === 'achievement')
    return Array.isArray(one.default)
      ? achievementsOf(names, values, { path, references, current: current as Achievement | undefined })
      : achievementOf(names, values, { path, references });
  const at = `${path}.${names[0]}`;
  return Array.isArray(one.default)
    ? references.findAll(one.refersTo!, values[names[0]!], at)
    : references.find(one.refersTo!, values[names[0]!], at);
}

const ACHIEVEMENT_NOUNS = ['achievement', 'achievement without a key', 'achievement ID'] as const;

function achievementsOf(
  names: readonly string[],
  values: Record<string, string[] | undefined>,
  { path, references, current }: Place & { current: Achievement | undefined },
): string[] {
  const parts = ACHIEVEMENT_NOUNS.flatMap((noun, index) => {
    const name = names[index]!;
    const given = noun === 'achievement ID' ? values[name]?.map((id) => id.toLowerCase()) : values[name];
    return references.findAll(noun, given, `${path}.${name}`);
  });
  // Their order has no meaning, so it stays if the parts are the same.
  const before = current?.achievementIds ?? [];
  const named = new Set(parts);
  return before.length === parts.length && before.every((id) => named.has(id)) ? before : parts;
}

function achievementOf(
  [byKey, byName, byId]: readonly string[],
  values: Record<string, string | undefined>,
  { path, references }: Place,
): string | null {
  const [key, name, id] = [values[byKey!], values[byName!], values[byId!]];
  if (key !== undefined && name !== undefined)
    references.problems.push({ path: `${path}.${byName}`, text: `only where ${byKey} is not given` });
  if (id !== undefined && (key ?? name) !== undefined)
    references.problems.push({ path: `${path}.${byId}`, text: `only where neither ${byKey} nor ${byName} is given` });
  const found = ACHIEVEMENT_NOUNS.map((noun, index) =>
    references.find(noun, [key, name, id?.toLowerCase()][index], `${path}.${[byKey, byName, byId][index]}`),
  );
  return found.find((one) => one !== null) ?? null;
}

/** The current settings, overridden by the document. */
export function streakFields(
  item: ConfiguredStreaks,
  { path, references }: Place,
  current: StreakSettings,
): StreakSettings {
  const frequency = item.frequency ?? current.frequency;
  return {
    ...current,
    ...item,
    daysOff: daysOffAfter(current, frequency, item.daysOff),
    metrics: (item.metrics ?? []).flatMap(({ metricKey, threshold }, index) => {
      const metricId = references.find('metric', metricKey, `${path}.metrics[${index}].metricKey`);
      return metricId === null ? [] : [{ metricId, threshold }];
    }),
    freezes: { ...current.freezes, ...item.freezes },
  };
}
