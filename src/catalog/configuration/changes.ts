import type { Catalog } from '../../domain/catalog.ts';
import type { Configuration, ConfigurationChange, DemoResource } from '../../domain/configuration.ts';
import type { KindPushTemplate, KindTemplate, MessageSettings } from '../../domain/notifications/message-settings.ts';
import { Slices } from '../../pacing/slices.ts';
import type { Change } from '../draft.ts';
import { differences, type DocumentKind, KINDS, listOf, parentOf, type Resource } from '../resource-fields.ts';
import { Export } from './export.ts';

const OWN_LISTS = {
  attribute: 'attributes',
  metric: 'metrics',
  achievement: 'achievements',
  points_system: 'pointsSystems',
  leaderboard: 'leaderboards',
  reward: 'rewards',
} as const;
const PART_LISTS = { points_level: 'levels', points_trigger: 'triggers', points_boost: 'boosts' } as const;

/** The demo resources (IDs: `demo`) that a document would keep because it omits their lists. */
export function demoLeft(catalog: Catalog, sent: Configuration, demo: ReadonlySet<string>): DemoResource[] {
  const systems = new Map(catalog.pointsSystems.map(({ id, key }) => [id, key]));
  const sentSystems = new Map(sent.pointsSystems?.map((system) => [system.key, system]));
  const stays = (kind: DocumentKind, resource: Resource): boolean => {
    if (kind in OWN_LISTS) return sent[OWN_LISTS[kind as keyof typeof OWN_LISTS]] === undefined;
    if (sent.pointsSystems === undefined) return true;
    const system = sentSystems.get(systems.get(parentOf(resource)!)!);
    return system !== undefined && system[PART_LISTS[kind as keyof typeof PART_LISTS]] === undefined;
  };
  return KINDS.filter((kind) => kind !== 'webhook').flatMap((kind) =>
    listOf(catalog, kind)
      .filter((resource) => demo.has(resource.id) && stays(kind, resource))
      .map((resource) => {
        const system = systems.get(parentOf(resource) ?? '');
        return {
          id: resource.id,
          kind,
          name: nameOf(resource),
          ...(system !== undefined && { pointsSystemKey: system }),
        };
      }),
  );
}

/** The name of a resource in a change: its key, its name if it has no key, or the type of a trigger. */
function nameOf(resource: object): string {
  const { key, name, type } = resource as { key?: string | null; name?: string; type?: string };
  return key ?? name ?? type ?? '';
}

/** Two catalogs, and the changes from the first to the second. */
export interface Edit {
  before: Catalog;
  after: Catalog;
  changes: Change[];
  streakChanges: string[];
  eventChanges: string[];
  messageChanges: string[];
  demo?: ReadonlySet<string>;
}

/**
 * The changes as the API reports them: by key, in the document's terms. `withCreated`: also the values of created resources, except defaults.
 * Runs in slices.
 */
export async function changesOf(edit: Edit, { withCreated = false } = {}): Promise<ConfigurationChange[]> {
  const { before, after, changes, streakChanges, eventChanges, messageChanges, demo } = edit;
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
      ...(withCreated && earlier === null && { after: { ...is.describe(kind, later!) } }),
    });
    if (slices.over) await slices.turn();
  }
  if (streakChanges.length > 0) {
    const fields = fieldsOf(was.streaks(before.streaks), is.streaks(after.streaks));
    described.push({ action: 'update', kind: 'streaks', name: 'streaks', ...fields });
  }
  if (eventChanges.length > 0)
    described.push({ action: 'update', kind: 'events', name: 'events', ...fieldsOf(before.events, after.events) });
  if (messageChanges.length > 0) described.push(...changesOfMessages(before.messages, after.messages));
  return described;
}

/** Changes of templates are listed one by one, because the list of all of them can be long. */
function changesOfMessages(
  { templates: emailsBefore, pushTemplates: pushesBefore, ...settingsBefore }: MessageSettings,
  { templates: emails, pushTemplates: pushes, ...settings }: MessageSettings,
): ConfigurationChange[] {
  const changes = [
    ...changesOfTemplates('message_template', emailsBefore, emails),
    ...changesOfTemplates('push_template', pushesBefore, pushes),
  ];
  const ofSettings = fieldsOf(settingsBefore, settings);
  const isReordered = changes.length === 0 && ofSettings.fields?.length === 0;
  if (isReordered) {
    ofSettings.fields = [
      ...(differences(emailsBefore, emails).length > 0 ? ['templates'] : []),
      ...(differences(pushesBefore, pushes).length > 0 ? ['pushTemplates'] : []),
    ];
  }
  if (ofSettings.fields?.length !== 0)
    changes.push({ action: 'update', kind: 'messages', name: 'messages', ...ofSettings });
  return changes;
}

function changesOfTemplates<T extends KindTemplate | KindPushTemplate>(
  kind: 'message_template' | 'push_template',
  before: readonly T[],
  after: readonly T[],
): ConfigurationChange[] {
  const nameOfTemplate = (template: T): string =>
    template.locale === undefined ? template.kind : `${template.kind} ${template.locale}`;
  const left = new Map(before.map((template) => [nameOfTemplate(template), template]));
  const changes: ConfigurationChange[] = [];
  for (const template of after) {
    const name = nameOfTemplate(template);
    const earlier = left.get(name);
    left.delete(name);
    if (earlier === undefined) changes.push({ action: 'create', kind, name });
    else if (differences(earlier, template).length > 0)
      changes.push({ action: 'update', kind, name, ...fieldsOf(earlier, template) });
  }
  for (const name of left.keys()) changes.push({ action: 'delete', kind, name });
  return changes;
}

function fieldsOf(before: object, after: object): Pick<ConfigurationChange, 'fields' | 'before' | 'after'> {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const fields = [...differences(before, after), ...gone];
  const changedOnly = (item: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(item).filter(([name]) => fields.includes(name)));
  return { fields, before: changedOnly(before), after: changedOnly(after) };
}
