import { FREQUENCIES } from '../domain/periods.ts';
import { type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { Export } from '../catalog/configuration/export.ts';
import type { DocumentKind, ResourceOf } from '../catalog/resource-fields.ts';
import { type Achievement, type Catalog, emptyCatalog, MOST_RESOURCES } from '../domain/catalog.ts';
import type { Configuration } from '../domain/configuration.ts';
import { type Field, TODAY } from '../domain/fields/field.ts';
import { FIELDS } from '../domain/fields/kinds.ts';
import { DaysOff, type StreakSettings } from '../domain/fields/tenant-settings.ts';
import { documentNames } from '../domain/fields/document.ts';
import { isNeeded, schemasOf, storedFrom, withDefaults } from '../domain/fields/wire.ts';
import { LISTS } from '../domain/kinds.ts';
import type { AttributeCondition } from '../domain/schemas.ts';
import { CommandError } from './command.ts';
import { fatalRefusal, plain, type Source, SourceRefusal } from './source.ts';

// Reads the configuration of another server of the contract's Admin API as a document. Reads only fields of the contract.

/** The contract's maximum page size. */
const PAGE = 100;
/** Statuses of a server that lacks an operation or denies it to this key. */
const UNSEEN = new Set([403, 404, 405, 410, 501]);

const text = Type.String();
const optional = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));

function loose({ refersTo, conditionsOn, schema }: Field): TSchema {
  if (conditionsOn !== undefined) return schema;
  const { type, enum: values, items } = schema as { type?: string; enum?: string[]; items?: object };
  if (values !== undefined) return Type.Enum(values);
  if (items !== undefined) return Type.Array(text);
  if (type === 'string' || refersTo !== undefined) return text;
  return type === 'integer' ? Type.Integer() : type === 'number' ? Type.Number() : schema;
}

const itemOf = (kind: DocumentKind) =>
  Type.Object({
    id: text,
    ...schemasOf(FIELDS[kind], (one) => {
      if (one.addition) return null;
      return isNeeded(one) || one.default === TODAY ? loose(one) : optional(loose(one));
    }),
  });

interface Item {
  id: string;
  key?: string;
  name?: string;
  type?: string;
  status?: string | null;
  metricId?: string | null;
  achievementId?: string | null;
  achievementIds?: string[] | null;
  pointsSystemId?: string | null;
  breakdownAttributes?: string[] | null;
  userAttributes?: AttributeCondition[] | null;
  eventAttributes?: AttributeCondition[] | null;
}

/** The stored form of an item. Texts without `null` in the contract are empty if unset. */
function storedOf<K extends DocumentKind>(kind: K, item: Item, more: object = {}): ResourceOf[K] {
  const fields = FIELDS[kind];
  const given = Object.entries(item).filter(([name, value]) => {
    const one = fields[name];
    if (one === undefined || one.addition || value === undefined || (value === null && !one.clearable)) return false;
    return !(value === '' && one.default === null && !one.clearable);
  });
  const stored = withDefaults(fields, storedFrom(fields, Object.fromEntries(given)), '');
  return { ...stored, ...more, no: 1, created: 0, updated: 0, id: lower(item.id) } as unknown as ResourceOf[K];
}

const SourceStreaks = Type.Object({
  frequency: Type.Enum([...FREQUENCIES]),
  evaluationMode: Type.Enum(['OR', 'AND']),
  customizationEnabled: Type.Boolean(),
  daysOff: DaysOff,
  metrics: Type.Array(Type.Object({ key: text, threshold: Type.Number() })),
  freezes: Type.Union([
    Type.Null(),
    Type.Object({
      startCount: Type.Integer(),
      maxCount: Type.Integer(),
      autoEarnInterval: optional(Type.Integer()),
      autoEarnAmount: optional(Type.Integer()),
    }),
  ]),
});

/** Laurel's own fields, in the document's terms. */
const additions = (['metric', 'attribute', 'achievement', 'points_system', 'leaderboard'] as const).flatMap((kind) =>
  Object.entries(FIELDS[kind]).flatMap(([name, one]) =>
    one.addition ? [`${LISTS[kind]}[].${documentNames(name, one)[0]}`] : [],
  ),
);

/** Configuration that no operation of the contract shows, and how a push of the document treats it. */
const NEVER_SEEN = [
  'webhooks, API keys, e-mails and push messages: no part of the document',
  'streaks.enabled, streaks.weekStart, events and messages: stay as they are here',
  `${additions.join(', ')}: the contract has none; a push takes away those of the same resources here`,
];

export interface Pulled {
  document: Configuration;
  /** What could not be read or expressed, a line each. */
  unseen: string[];
}

/**
 * Reads the configuration of a source. Omits a whole list if the source does not show it, or if one of its items refers
 * to something that is not shown, so that a push deletes nothing unseen. `partial` omits only such items. Ends the
 * command if the source refuses the key, fails, or answers unlike such a server.
 */
export const pullSource = (source: Source, { partial }: { partial: boolean }): Promise<Pulled> =>
  new SourceReader(source, partial).read();

class SourceReader {
  private readonly source: Source;
  private readonly partial: boolean;
  private readonly unseen: string[] = [];
  private readonly catalog: Catalog = emptyCatalog(0);
  private readonly known = { attribute: new Set<string>(), metric: new Set<string>(), achievement: new Set<string>() };
  private items = 0;

  constructor(source: Source, partial: boolean) {
    this.source = source;
    this.partial = partial;
  }

  async read(): Promise<Pulled> {
    const { catalog } = this;
    const attributes = await this.list('attribute', '/v1/attributes', 'attributes');
    const metrics = await this.list('metric', '/v1/metrics', 'metrics');
    const allAchievements = await this.list('achievement', '/v1/achievements', 'achievements');
    const systems = await this.list('points_system', '/v1/points', 'pointsSystems');
    const allBoards = await this.list('leaderboard', '/v1/leaderboards', 'leaderboards');
    if (!attributes && !metrics && !allAchievements && !systems && !allBoards)
      throw new CommandError(
        'The source shows nothing: --from must be the address of its Admin API, and the key may read it.',
      );

    catalog.attributes = (attributes ?? []).map((item) => storedOf('attribute', item));
    for (const { id } of catalog.attributes) this.known.attribute.add(id);
    catalog.metrics = (metrics ?? []).map((item) => storedOf('metric', item));
    for (const { id } of catalog.metrics) this.known.metric.add(id);
    const achievements = this.achievements(allAchievements);
    const left = await this.systems(systems ?? []);
    const boards = this.boards(allBoards);
    const streaks = await this.streaks();

    const document: Configuration = await new Export(catalog).document();
    for (const [index, lists] of left.entries()) for (const name of lists) delete document.pointsSystems![index]![name];
    delete document.events;
    delete document.messages;
    // The contract has none: a push keeps those of the target.
    delete document.rewards;
    if (!attributes) delete document.attributes;
    if (!metrics) delete document.metrics;
    if (!achievements) delete document.achievements;
    if (!systems) delete document.pointsSystems;
    if (!boards) delete document.leaderboards;
    delete document.streaks;
    if (streaks) document.streaks = streaks;
    // The contract shows the keys only of achievements completed through the API.
    if (catalog.achievements.some(({ key, trigger }) => key === null && trigger !== 'api'))
      this.unseen.push(
        'achievements[].key where the source shows none: achievements without a key are matched by name',
      );
    return { document, unseen: [...this.unseen, ...NEVER_SEEN] };
  }

  private achievements(all: Item[] | null): Achievement[] | null {
    // Items that refer to an omitted item are omitted as well.
    let kept = all;
    for (let before = -1; kept !== null && kept.length !== before;) {
      before = kept.length;
      this.known.achievement = new Set(kept.map(({ id }) => lower(id)));
      kept = this.kept('achievements', kept, (item) => [
        this.missing('metric', item.metricId),
        ...(item.achievementIds ?? []).map((id) => this.missing('achievement', id)),
        ...this.missingAttributes(item.userAttributes, item.eventAttributes),
      ]);
    }
    // Without the list, other items must not refer to its items, which may be missing here.
    if (kept === null) this.known.achievement.clear();
    if (kept === null) return null;
    this.catalog.achievements = kept.map((item) => storedOf('achievement', item));
    return this.catalog.achievements;
  }

  /** Reads the parts of the systems. Returns, for each system, the names of the lists that its item omits. */
  private async systems(all: Item[]): Promise<('levels' | 'triggers' | 'boosts')[][]> {
    const { catalog } = this;
    const left: ('levels' | 'triggers' | 'boosts')[][] = [];
    for (const system of all) {
      const { id, key, status } = system;
      if (status === 'archived') continue;
      const systemId = lower(id);
      catalog.pointsSystems.push(storedOf('points_system', system));
      const [path, label] = [`/v1/points/${encodeURIComponent(id)}`, `pointsSystems.${key}`];
      const levels = await this.list('points_level', `${path}/levels`, `${label}.levels`);
      const allTriggers = await this.list('points_trigger', `${path}/triggers`, `${label}.triggers`);
      const triggers = this.kept(`${label}.triggers`, allTriggers, (item) => [
        this.missing('metric', item.metricId),
        this.missing('achievement', item.achievementId),
        ...this.missingAttributes(item.userAttributes, item.eventAttributes),
      ]);
      const allBoosts = await this.list('points_boost', `${path}/boosts`, `${label}.boosts`);
      const boosts = this.kept(`${label}.boosts`, allBoosts, (item) => this.missingAttributes(item.userAttributes));
      left.push([
        ...(levels ? [] : ['levels' as const]),
        ...(triggers ? [] : ['triggers' as const]),
        ...(boosts ? [] : ['boosts' as const]),
      ]);
      for (const item of levels ?? []) catalog.levels.push(storedOf('points_level', item, { systemId }));
      for (const item of triggers ?? [])
        catalog.triggers.push(storedOf('points_trigger', item, { systemId, activated: null }));
      for (const item of boosts ?? []) catalog.boosts.push(storedOf('points_boost', item, { systemId }));
    }
    return left;
  }

  private boards(all: Item[] | null): Item[] | null {
    const systems = new Set(this.catalog.pointsSystems.map(({ id }) => id));
    const kept = this.kept('leaderboards', all, (item) => [
      this.missing('metric', item.metricId),
      item.pointsSystemId && !systems.has(lower(item.pointsSystemId)) ? `points system ${item.pointsSystemId}` : null,
      ...(item.breakdownAttributes ?? []).map((id) => this.missing('attribute', id)),
    ]);
    this.catalog.leaderboards = (kept ?? []).map((item) => storedOf('leaderboard', item));
    return kept;
  }

  private async streaks(): Promise<Configuration['streaks'] | null> {
    const answer = await this.ask('/v1/streaks/settings', 'streaks');
    if (answer === null) return null;
    if (!Value.Check(SourceStreaks, answer)) throw notSuchAServer('/v1/streaks/settings');
    const { frequency, evaluationMode, customizationEnabled, daysOff, metrics, freezes } = answer;
    const off: StreakSettings['freezes'] = emptyCatalog(0).streaks.freezes;
    return {
      frequency,
      evaluationMode,
      daysOff: [...daysOff].sort((a, b) => a - b),
      metrics: metrics.map(({ key, threshold }) => ({ metricKey: key, threshold })),
      freezes:
        freezes === null
          ? off
          : {
              enabled: true,
              initial: freezes.startCount,
              max: freezes.maxCount,
              autoEarnInterval: freezes.autoEarnInterval ?? null,
              autoEarnAmount: freezes.autoEarnAmount ?? null,
            },
      personalization: customizationEnabled,
    };
  }

  /** All items of a list; `null` if the source hides it. Reads pages until one has nothing new. */
  private async list(kind: DocumentKind, path: string, label: string): Promise<Item[] | null> {
    const items = new Map<string, Item>();
    for (;;) {
      const before = items.size;
      const page = await this.ask(`${path}?limit=${PAGE}&skip=${before}`, label);
      if (page === null) return null;
      if (!Value.Check(Type.Array(itemOf(kind)), page)) throw notSuchAServer(path);
      for (const item of page as Item[]) items.set(lower(item.id), item);
      if (items.size === before) break;
      this.items += items.size - before;
      if (this.items > MOST_RESOURCES)
        throw new CommandError(
          `The source has more than ${MOST_RESOURCES} resources, the most that a document may have.`,
        );
    }
    return [...items.values()];
  }

  /** The answer's body; `null` if the source lacks this operation or denies it to this key. */
  private async ask(path: string, label: string): Promise<unknown> {
    try {
      return await this.source.ask(path);
    } catch (error) {
      if (!(error instanceof SourceRefusal)) throw error;
      if (!UNSEEN.has(error.status))
        throw (
          fatalRefusal(error) ??
          new CommandError(`The source does not answer ${path} (${error.message}). Nothing was written.`)
        );
      this.unseen.push(
        `${label}: the source does not show them (${plain(error.message)}); left out, so that they stay as they are here`,
      );
      return null;
    }
  }

  /** The items of a list whose references are all known; `null` if some are not and partial lists are not wanted. */
  private kept<T extends { id: string; name?: string; type?: string }>(
    label: string,
    all: T[] | null,
    references: (item: T) => (string | null)[],
  ): T[] | null {
    if (all === null) return null;
    const [kept, lost]: [T[], string[]] = [[], []];
    for (const item of all) {
      const missing = references(item).filter((text) => text !== null);
      if (missing.length === 0) kept.push(item);
      else lost.push(`${item.name ?? item.type} (${missing.join(', ')})`);
    }
    if (lost.length === 0) return kept;
    const some = `${lost.slice(0, 5).join('; ')}${lost.length > 5 ? `; and ${lost.length - 5} more` : ''}`;
    const what = this.partial
      ? 'items left out, and deleted by a push where they are here'
      : 'the whole list is left out, so that it stays as it is here (--partial leaves out these items alone)';
    this.unseen.push(plain(`${label}: items refer to what the source does not show: ${some}`) + `: ${what}`);
    return this.partial ? kept : null;
  }

  private missing(kind: keyof SourceReader['known'], id: string | null | undefined): string | null {
    return id === null || id === undefined || this.known[kind].has(lower(id)) ? null : `${kind} ${id}`;
  }

  private missingAttributes(...lists: (readonly AttributeCondition[] | null | undefined)[]): (string | null)[] {
    return lists.flatMap((list) => (list ?? []).map(({ attributeId }) => this.missing('attribute', attributeId)));
  }
}

const lower = (id: string): string => id.toLowerCase();
const notSuchAServer = (path: string): CommandError =>
  new CommandError(
    `The source does not answer ${path} as the Admin API does: --from must be the address of its Admin API.`,
  );
