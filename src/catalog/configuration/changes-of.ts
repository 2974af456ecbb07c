import type { Catalog } from '../../domain/catalog.ts';
import type { ConfigurationChange } from '../../domain/configuration.ts';
import { Slices } from '../../slices.ts';
import type { Change } from '../draft.ts';
import { differences, parentOf } from '../resource-fields.ts';
import { nameOf } from './demo-left.ts';
import { Export } from './export.ts';

/** Two catalogs, the second made from the first by the changes. */
export interface Edit {
  before: Catalog;
  after: Catalog;
  changes: Change[];
  /** The names of the streak settings that changed. */
  streakChanges: string[];
  /** IDs of the demo's resources. */
  demo?: ReadonlySet<string>;
}

/** The changes as answers report them: by key, in the words of the document. In slices. */
export async function changesOf({ before, after, changes, streakChanges, demo }: Edit): Promise<ConfigurationChange[]> {
  const [was, is] = [new Export(before), new Export(after)];
  const systems = new Map([...before.pointsSystems, ...after.pointsSystems].map(({ id, key }) => [id, key]));
  const described: ConfigurationChange[] = [];
  const slices = new Slices();
  for (const { kind, before: earlier, after: later } of changes) {
    if (kind === 'webhook') continue;
    const resource = (later ?? earlier)!;
    const system = systems.get(parentOf(resource) ?? '');
    described.push({
      action: earlier === null ? 'create' : later === null ? 'delete' : 'update',
      kind,
      name: nameOf(resource),
      ...(system !== undefined && { pointsSystemKey: system }),
      ...(demo?.has(resource.id) && later === null && { demo: true }),
      ...(earlier !== null && later !== null && fieldsOf(was.describe(kind, earlier), is.describe(kind, later))),
    });
    if (slices.over) await slices.turn();
  }
  if (streakChanges.length === 0) return described;
  const fields = fieldsOf(was.streaks(before.streaks), is.streaks(after.streaks));
  return [...described, { action: 'update', kind: 'streaks', name: 'streaks', ...fields }];
}

/** The fields in which two items differ, and what they held. */
function fieldsOf(before: object, after: object): Pick<ConfigurationChange, 'fields' | 'before' | 'after'> {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const fields = [...differences(before, after), ...gone];
  const those = (item: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(item).filter(([name]) => fields.includes(name)));
  return { fields, before: those(before), after: those(after) };
}
