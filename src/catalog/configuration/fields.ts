/** Fields of a document: parsed and compared, and changes of the streak settings. */
import type { Catalog } from '../../domain/catalog.ts';
import type { StreakSettings } from '../../domain/fields/tenant-settings.ts';
import type { ConfiguredCondition, ConfiguredStreaks } from '../../domain/configuration.ts';
import { documentNames } from '../../domain/fields/document.ts';
import type { Field } from '../../domain/fields/field.ts';
import { FIELDS } from '../../domain/fields/kinds.ts';
import { entriesOf, storedFrom, withDefaults } from '../../domain/fields/wire.ts';
import { suggestion } from '../../domain/nearest.ts';
import type { StreakSettingsChanges } from '../../domain/streaks/streak-settings.ts';
import type { DocumentKind, Fields, ResourceOf } from '../resource-fields.ts';
import { problem, type Problem } from '../rules/problem.ts';
import type { References } from './pairing.ts';

/** An item's path in the document, and the document's references. */
interface Place {
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
  const resolved: Record<string, unknown> = {};
  const plain: Record<string, unknown> = {};
  for (const [name, one] of entriesOf(fields)) {
    if (one.conditionsOn !== undefined || one.refersTo !== undefined) {
      resolved[name] = referred({ name, one, item, place, current });
      continue;
    }
    const value = (item as Record<string, unknown>)[name];
    // A leaderboard without a first day keeps the day on which it was created.
    const kept = one.default === 'today' ? (current as Record<string, unknown> | undefined)?.[name] : undefined;
    if (value !== undefined && (value !== null || one.clearable)) plain[name] = value;
    else if (kept !== undefined) plain[name] = kept;
  }
  const stored = withDefaults(fields, { ...storedFrom(fields, plain), ...resolved }, today);
  return { ...stored, ...(systemId !== undefined && { systemId }) } as unknown as Fields<K>;
}

interface Reference {
  name: string;
  one: Field;
  item: object;
  place: Place;
  current: object | undefined;
}

function referred({ name, one, item, place: { path, references }, current }: Reference): unknown {
  const values = item as Record<string, string | undefined> & Record<string, string[] | undefined>;
  if (one.conditionsOn !== undefined)
    return references.conditions(one.conditionsOn, values[name] as ConfiguredCondition[] | undefined, path);
  const names = documentNames(name, one);
  if (one.refersTo === 'achievement')
    return Array.isArray(one.default)
      ? achievementsOf(names, values, {
          path,
          references,
          before: (current as Record<string, string[]> | undefined)?.[name],
        })
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
  { path, references, before = [] }: Place & { before: string[] | undefined },
): string[] {
  const parts = ACHIEVEMENT_NOUNS.flatMap((noun, index) => {
    const name = names[index]!;
    const given = noun === 'achievement ID' ? values[name]?.map((id) => id.toLowerCase()) : values[name];
    return references.findAll(noun, given, `${path}.${name}`);
  });
  // Their order has no meaning, so it stays if the parts are the same.
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
  const achievements = ACHIEVEMENT_NOUNS.map((noun, index) =>
    references.find(noun, [key, name, id?.toLowerCase()][index], `${path}.${[byKey, byName, byId][index]}`),
  );
  return achievements.find((one) => one !== null) ?? null;
}

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

/** Days off after a change of streak settings, ascending: those in the request or else the current ones, cleared unless the frequency is `daily`. */
function daysOffAfter(
  current: StreakSettings,
  frequency: StreakSettings['frequency'],
  sent: readonly number[] | undefined,
): number[] {
  if (sent !== undefined) return [...sent].sort((a, b) => a - b);
  return frequency === 'daily' ? current.daysOff : [];
}

type Freezes = StreakSettings['freezes'];

/** Merges a request into streak settings. Reports unknown keys and two names of a setting with different values. */
export function changedStreaks(
  { streaks: current, metrics }: Pick<Catalog, 'streaks' | 'metrics'>,
  changes: StreakSettingsChanges,
): { settings: StreakSettings; problems: Problem[] } {
  const problems: Problem[] = [];
  const frequency = changes.frequency ?? current.frequency;
  const personalization = eitherName(changes, ['customizationEnabled', 'personalization'], { at: '', problems });
  const settings = {
    enabled: changes.enabled ?? current.enabled,
    frequency,
    weekStart: changes.weekStart ?? current.weekStart,
    evaluationMode: changes.evaluationMode ?? current.evaluationMode,
    daysOff: daysOffAfter(current, frequency, changes.daysOff),
    metrics: changes.metrics === undefined ? current.metrics : countedMetrics(changes.metrics, metrics, problems),
    freezes: changedFreezes(current.freezes, changes.freezes, problems),
    personalization: personalization ?? current.personalization,
  };
  return { settings, problems };
}

/** The value of a setting that has two names; a problem if both are sent and differ. */
function eitherName<T extends object, N extends keyof T & string>(
  sent: T,
  [name, earlier]: [N, N],
  { at, problems }: { at: string; problems: Problem[] },
): T[N] | undefined {
  const values = [sent[name], sent[earlier]].filter((value) => value !== undefined);
  if (values.length === 2 && values[0] !== values[1])
    problems.push(problem(`${at}${name}`, `differs from ${at}${earlier}, an earlier name of the same setting`));
  return values[0];
}

function countedMetrics(
  sent: NonNullable<StreakSettingsChanges['metrics']>,
  metrics: Catalog['metrics'],
  problems: Problem[],
): StreakSettings['metrics'] {
  return sent.flatMap(({ key, metricId, threshold }, index) => {
    const at = `metrics[${index}]`;
    const byKey = key === undefined ? undefined : metrics.find((metric) => metric.key === key);
    const id = metricId?.toLowerCase();
    if (key === undefined && id === undefined) problems.push(problem(`${at}.key`, 'required'));
    else if (key !== undefined && byKey === undefined) {
      const keys = metrics.map((metric) => metric.key);
      problems.push(problem(`${at}.key`, `unknown metric '${key}'${suggestion(key, keys)}`));
    } else if (byKey !== undefined && id !== undefined && byKey.id !== id)
      problems.push(problem(`${at}.key`, `names another metric than ${at}.metricId`));
    const counted = byKey?.id ?? id;
    return counted === undefined ? [] : [{ metricId: counted, threshold }];
  });
}

/** With `startCount` and `maxCount`, replaces all freeze settings; with the earlier names alone, sets them one by one. */
function changedFreezes(current: Freezes, sent: StreakSettingsChanges['freezes'], problems: Problem[]): Freezes {
  if (sent === undefined) return current;
  if (sent === null) return { ...current, enabled: false };
  const names = { at: 'freezes.', problems };
  const initial = eitherName(sent, ['startCount', 'initial'], names);
  const max = eitherName(sent, ['maxCount', 'max'], names);
  if (sent.startCount === undefined && sent.maxCount === undefined)
    return {
      enabled: sent.enabled ?? current.enabled,
      initial: initial ?? current.initial,
      max: max ?? current.max,
      // `null` is a value: users earn no freezes.
      autoEarnInterval: sent.autoEarnInterval === undefined ? current.autoEarnInterval : sent.autoEarnInterval,
      autoEarnAmount: sent.autoEarnAmount === undefined ? current.autoEarnAmount : sent.autoEarnAmount,
    };
  if (initial === undefined) problems.push(problem('freezes.startCount', 'goes with freezes.maxCount'));
  if (max === undefined) problems.push(problem('freezes.maxCount', 'goes with freezes.startCount'));
  return {
    enabled: sent.enabled ?? true,
    initial: initial ?? current.initial,
    max: max ?? current.max,
    autoEarnInterval: sent.autoEarnInterval ?? null,
    autoEarnAmount: sent.autoEarnAmount ?? null,
  };
}
