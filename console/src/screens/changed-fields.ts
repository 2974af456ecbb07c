import { calendarDays, moment, number } from '../ui/format.ts';

/** Names by the IDs of resources. */
type Names = ReadonlyMap<string, { text: string }>;

type Values = Readonly<Record<string, unknown>>;

const MOMENT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** Characters of a value; a template can be long. */
const SHOWN = 120;

/** The name of a field or kind in words: `metricId` and `points_level` become `metric` and `points level`. */
export const words = (name: string): string =>
  name
    .replace(/(?<=[a-z])Ids?$/, '')
    .replace(/([A-Z])/g, ' $1')
    .replaceAll('_', ' ')
    .toLowerCase();

function valueText(value: unknown, names: Names): string {
  if (value === null || value === undefined || value === '') return 'none';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map((each) => valueText(each, names)).join(', ');
  if (typeof value === 'object')
    return `(${Object.entries(value)
      .map(([name, inner]) => `${words(name)}: ${valueText(inner, names)}`)
      .join(', ')})`;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return number(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (MOMENT.test(text)) return moment(text);
  return DAY.test(text) ? calendarDays(text) : (names.get(text)?.text ?? text);
}

const shortened = (text: string): string => (text.length <= SHOWN ? text : `${text.slice(0, SHOWN)} …`);

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The changed fields, a line each: `price: 250 → 300`. Of a change of objects, such as guards, only the fields in them that differ.
 * IDs of resources are shown as names.
 */
export function changedFields(
  { before, after }: { before?: Values | undefined; after?: Values | undefined },
  names: Names,
): string[] {
  return Object.keys({ ...before, ...after }).flatMap((name): string[] => {
    const [old, now] = [before?.[name], after?.[name]];
    const shown = [old, now].map((value) => shortened(valueText(value, names)));
    if (before === undefined || after === undefined)
      return [`${words(name)}: ${after === undefined ? shown[0] : shown[1]}`];
    if (isObject(old) && isObject(now))
      return changedFields({ before: old, after: now }, names).map((line) => `${words(name)} ${line}`);
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [`${words(name)}: ${shown[0]} → ${shown[1]}`];
  });
}
