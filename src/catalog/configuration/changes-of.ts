import type { Catalog } from '../../domain/catalog.ts';
import type { ConfigurationChange } from '../../domain/configuration.ts';
import { Slices } from '../../slices.ts';
import type { Change } from '../draft.ts';
import { differences, parentOf } from '../resource-fields.ts';
import { nameOf } from './demo-left.ts';
import { Export } from './export.ts';

/** Two catalogs, and the changes from the first to the second. */
export interface Edit {
  before: Catalog;
  after: Catalog;
  changes: Change[];
  streakChanges: string[];
  /** Names of the changed event settings. */
  eventChanges: string[];
  /** IDs of the demo resources. */
  demo?: ReadonlySet<string>;
}

/** The changes as the API reports them: by key, in the document's terms. Runs in slices. */
export async function changesOf(edit: Edit): Promise<ConfigurationChange[]> {
  const { before, after, changes, streakChanges, eventChanges, demo } = edit;
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
  if (streakChanges.length > 0) {
    const fields = fieldsOf(was.streaks(before.streaks), is.streaks(after.streaks));
    described.push({ action: 'update', kind: 'streaks', name: 'streaks', ...fields });
  }
  if (eventChanges.length > 0)
    described.push({ action: 'update', kind: 'events', name: 'events', ...fieldsOf(before.events, after.events) });
  return described;
}

/** The fields in which two items differ, with both values. */
function fieldsOf(before: object, after: object): Pick<ConfigurationChange, 'fields' | 'before' | 'after'> {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const fields = [...differences(before, after), ...gone];
  const those = (item: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(item).filter(([name]) => fields.includes(name)));
  return { fields, before: those(before), after: those(after) };
}
