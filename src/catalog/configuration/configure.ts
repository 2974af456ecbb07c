import { v7 as uuid } from 'uuid';
import { type Attribute, type Catalog, MOST_RESOURCES } from '../../domain/catalog.ts';
import type { Configuration, ConfiguredAchievement, ConfiguredPointsSystem } from '../../domain/configuration.ts';
import type { Kind } from '../../domain/kinds.ts';
import { messageProblems } from '../../domain/notifications/message-settings.ts';
import { epochDay } from '../../domain/periods.ts';
import type { WebhookFilter } from '../../domain/schemas.ts';
import { Slices } from '../../pacing/slices.ts';
import type { CatalogDraft } from '../draft.ts';
import { tooMuchWork } from '../event-work.ts';
import {
  contentOf,
  differences,
  type DocumentKind,
  type Fields,
  listOf,
  type ResourceOf,
  resourcesIn,
} from '../resource-fields.ts';
import { changeProblems, problemsOf } from '../rules/rules.ts';
import { ACHIEVEMENT_INDEXES, userAttributeKeys, webhooksFor } from '../rules/references.ts';
import { streakProblems } from '../rules/resource-rules.ts';
import {
  ACHIEVEMENT_RULES,
  achievementName,
  attributeName,
  BY_KEY,
  documentPath,
  type DocumentProblem,
  nameOf,
  nameOfAttribute,
  ownerAt,
  pair,
  type PairingRule,
  type Placed,
  References,
  same,
  targetOf,
} from './pairing.ts';
import { exportConfiguration } from './export.ts';
import { fieldsOf, streakFields } from './fields.ts';

/** Fills in whatever a document omits from the document of the current configuration. */
function completeConfiguration(sent: Configuration, present: Required<Configuration>): Required<Configuration> {
  const systems = new Map(present.pointsSystems.map((system) => [system.key, system]));
  const leavesDaily = (sent.streaks?.frequency ?? 'daily') !== 'daily';
  return {
    attributes: sent.attributes ?? present.attributes,
    metrics: sent.metrics ?? present.metrics,
    achievements: sent.achievements ?? present.achievements,
    pointsSystems:
      sent.pointsSystems?.map((system) => {
        const known = systems.get(system.key);
        return {
          ...system,
          levels: system.levels ?? known?.levels ?? [],
          triggers: system.triggers ?? known?.triggers ?? [],
          boosts: system.boosts ?? known?.boosts ?? [],
        };
      }) ?? present.pointsSystems,
    leaderboards: sent.leaderboards ?? present.leaderboards,
    rewards: sent.rewards ?? present.rewards,
    streaks: { ...present.streaks, ...(leavesDaily && { daysOff: [] }), ...sent.streaks },
    events: { ...present.events, ...sent.events },
    messages: { ...present.messages, ...sent.messages },
  };
}

// Checks of the document as a whole, which the rules of single resources cannot make.

/** Rejects documents that are too long, so it must run first. Resources outside the document also count. */
function tooManyResources(
  document: Required<Configuration>,
  { catalog, before }: { catalog: Catalog; before: Catalog },
): DocumentProblem | null {
  const { attributes, metrics, achievements, pointsSystems, leaderboards, rewards } = document;
  const parts = pointsSystems.map(({ levels, triggers, boosts }) =>
    [levels, triggers, boosts].reduce((sum, list) => sum + (list?.length ?? 0), 1),
  );
  const others = [attributes, metrics, achievements, leaderboards, rewards, catalog.webhooks];
  const sum = others.reduce((all, list) => all + list.length, 0) + parts.reduce((all, one) => all + one, 0);
  if (sum <= Math.max(MOST_RESOURCES, resourcesIn(before))) return null;
  const most = MOST_RESOURCES.toLocaleString('en-US');
  return { path: 'configuration', text: `has ${sum} resources, and may have ${most} in all` };
}

function repeatedIds(achievements: readonly Placed<'achievement', ConfiguredAchievement>[]): DocumentProblem[] {
  const seen = new Set<string>();
  return achievements.flatMap(({ item, path }) => {
    const id = item.id?.toLowerCase();
    if (id === undefined) return [];
    if (seen.has(id)) return [{ path: `${path}.id`, text: 'another achievement of the document has this ID' }];
    seen.add(id);
    return [];
  });
}

/** Reports changed attribute types. They would make users' values meaningless. */
function changedTypes(
  attributes: readonly Placed<'attribute', { key: string; type: string }>[],
  present: readonly Attribute[],
): DocumentProblem[] {
  const before = new Map(present.map((attribute) => [nameOfAttribute(attribute), attribute]));
  const named = new Set(attributes.map(({ current }) => current));
  return attributes.flatMap(({ item, current, path }) => {
    const other = before.get(nameOfAttribute({ ...item, type: item.type === 'user' ? 'event' : 'user' }));
    if (current !== undefined || other === undefined || named.has(other)) return [];
    const is = other.type === 'user' ? 'a user' : 'an event';
    const text = `'${item.key}' is ${is} attribute, and the type of an attribute cannot be changed: delete it first`;
    return [{ path: `${path}.type`, text }];
  });
}

const brokenPaths = (problems: readonly DocumentProblem[]): ReadonlySet<string> =>
  new Set(
    problems.flatMap(({ path }) => {
      // Rules report stored references; they know neither names nor the document's IDs.
      const known = path.replace(/\.achievement(Name|Id)/, '.achievementKey');
      return [known, ...[...known.matchAll(/\[/g)].map(({ index }) => known.slice(0, index))];
    }),
  );

const LISTS = [
  ['metrics', 'metricIds'],
  ['leaderboards', 'leaderboardIds'],
  ['pointsSystems', 'pointsSystemIds'],
] as const satisfies [keyof Catalog, keyof WebhookFilter][];

/** Resources that a document would delete although a webhook's filter names them. */
const wantedByWebhooks = (before: Catalog, after: Catalog): DocumentProblem[] =>
  LISTS.flatMap(([path, list]) => {
    const left = new Set(after[path].map(({ id }) => id));
    return before[path].flatMap(({ id, key }) => {
      const wanting = left.has(id) ? [] : webhooksFor(list, id, after);
      return wanting.length === 0
        ? []
        : [
            {
              path,
              text: `must keep '${key}', which the filter of ${wanting.join(', ')} names: change the filter first`,
            },
          ];
    });
  });

/** Problems of the templates; their variables name user attributes of the document. */
const templateProblemsIn = ({ messages, attributes }: Catalog): DocumentProblem[] =>
  messageProblems(messages, userAttributeKeys(attributes)).map(({ field, text }) => ({
    path: `messages.${field}`,
    text,
  }));

/** Items stored before yielding to other work. */
const AT_ONCE = 200;
/** After this many problems, the rest of the document is not checked. */
const MOST_PROBLEMS = 200;

/**
 * Changes a draft to match a document: creates, updates and deletes. Returns the document's problems, including violated rules of its
 * resources; the draft is then useless. O(resources), in slices.
 * @param options.today `YYYY-MM-DD`
 * @param options.without IDs of resources to delete if the document does not name them
 */
export async function configure(
  draft: CatalogDraft,
  sent: Configuration,
  { today, without }: { today: string; without?: ReadonlySet<string> },
): Promise<DocumentProblem[]> {
  const present = await exportConfiguration(draft.catalog, without);
  return await new Configuring(draft, completeConfiguration(sent, present), today).run();
}

class Configuring {
  private readonly draft: CatalogDraft;
  private readonly document: Required<Configuration>;
  private readonly today: string;
  private readonly references: References;
  private readonly problems: DocumentProblem[] = [];
  private readonly checks: (() => DocumentProblem[])[] = [];
  private readonly slices = new Slices();

  constructor(draft: CatalogDraft, document: Required<Configuration>, today: string) {
    this.draft = draft;
    this.document = document;
    this.today = today;
    this.references = new References((path) => ownerAt(document, path));
  }

  async run(): Promise<DocumentProblem[]> {
    const tooMany = tooManyResources(this.document, this.draft);
    if (tooMany !== null) return [tooMany];
    const { references, document, draft } = this;
    // First assign IDs to all resources that others refer to, so that references may point in any direction.
    const attributes = await this.place('attribute', 'attributes', document.attributes, [same(nameOfAttribute)]);
    const metrics = await this.place('metric', 'metrics', document.metrics, [BY_KEY]);
    const achievements = await this.place('achievement', 'achievements', document.achievements, ACHIEVEMENT_RULES);
    const systems = await this.place('points_system', 'pointsSystems', document.pointsSystems, [BY_KEY]);
    const boards = await this.place('leaderboard', 'leaderboards', document.leaderboards, [BY_KEY]);
    await this.each(attributes, ({ item, id }) => references.add(...attributeName(item), id));
    await this.each(metrics, ({ item, id }) => references.add('metric', item.key, id));
    await this.each(systems, ({ item, id }) => references.add('points system', item.key, id));
    await this.each(boards, ({ item, id }) => references.add('leaderboard', item.key, id));
    await this.each(achievements, ({ item, id }) => references.add(...achievementName(item), id));
    await this.each(achievements, ({ item, id }) => {
      if (item.id !== undefined) references.add('achievement ID', item.id.toLowerCase(), id);
    });
    // Also register the existing ID, in case the document does not contain it.
    await this.each(achievements, ({ id }) => references.add('achievement ID', id, id));
    this.problems.push(...repeatedIds(achievements));
    const { before } = draft;
    for (const attribute of before.attributes) references.addPresent(...attributeName(attribute));
    for (const { key } of before.metrics) references.addPresent('metric', key);
    for (const { key } of before.pointsSystems) references.addPresent('points system', key);
    for (const { key } of before.leaderboards) references.addPresent('leaderboard', key);
    for (const achievement of before.achievements) references.addPresent(...achievementName(achievement));

    this.problems.push(...changedTypes(attributes, before.attributes));
    await this.store('attribute', attributes);
    await this.store('metric', metrics);
    await this.store('achievement', achievements);
    await this.store('points_system', systems);
    for (const system of systems) await this.storeParts(system);
    await this.store('leaderboard', boards);
    await this.store('reward', await this.place('reward', 'rewards', document.rewards, [BY_KEY]));
    const streaks = streakFields(document.streaks, { path: 'streaks', references }, draft.catalog.streaks);
    draft.setStreaks(streaks);
    this.checks.push(() =>
      [...streakProblems(streaks, draft.catalog)].map(({ field, text }) => ({
        path: `streaks.${documentPath(field)}`,
        text,
      })),
    );
    draft.setEvents({ ...draft.catalog.events, ...document.events });
    draft.setMessages({ ...draft.catalog.messages, ...document.messages });
    this.checks.push(() => templateProblemsIn(draft.catalog));
    this.checks.push(() => wantedByWebhooks(draft.before, draft.catalog));
    this.checks.push(() => {
      const tooMuch = tooMuchWork(draft);
      return tooMuch === null ? [] : [{ path: 'configuration', text: tooMuch }];
    });
    return await this.allProblems();
  }

  private async each<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
    for (const item of items) {
      work(item);
      if (this.slices.over) await this.slices.turn();
    }
  }

  private async place<K extends Kind, Item>(
    kind: K,
    path: string,
    items: Item[],
    rules: PairingRule<Item, ResourceOf[K]>[],
    among: ResourceOf[K][] = listOf(this.draft.catalog, kind),
  ): Promise<Placed<K, Item>[]> {
    const pairs = pair(items, among, rules);
    const kept = new Set(pairs);
    this.draft.removeAll(kind, new Set(among.filter((resource) => !kept.has(resource)).map(({ id }) => id)));
    const { slices } = this;
    const placed: Placed<K, Item>[] = [];
    for (const [index, item] of items.entries()) {
      const current = pairs[index];
      placed.push({ path: `${path}[${index}]`, item, id: current?.id ?? uuid(), current });
      if (slices.over) await slices.turn();
    }
    return placed;
  }

  private async store<K extends DocumentKind, Item extends object>(
    kind: K,
    all: Placed<K, Item>[],
    fields = ({ item, path, current }: Placed<K, Item>): Fields<K> => this.fields(kind, item, { path, current }),
  ): Promise<void> {
    const { draft, slices } = this;
    for (let from = 0; from < all.length; from += AT_ONCE) {
      const some = all.slice(from, from + AT_ONCE);
      const given: { id: string; fields: Fields<K> }[] = [];
      await this.each(some, (placed) => given.push({ id: placed.id, fields: fields(placed) }));
      const stored = draft.storeAll(kind, given);
      // The rules need the whole document, so their checks are deferred.
      for (const [index, placed] of some.entries())
        this.checks.push(() => this.problemsAt(kind, placed, stored[index]!));
      if (slices.over) await slices.turn();
    }
  }

  private problemsAt<K extends Kind, Item>(
    kind: K,
    { path, item, current: before }: Placed<K, Item>,
    after: ResourceOf[K],
  ): DocumentProblem[] {
    const utcDay = epochDay(this.draft.nowMs);
    const ofChange =
      before === undefined ? [] : changeProblems(kind, { before, after, sent: changed(before, after), utcDay });
    return [...ofChange, ...problemsOf(kind, after, this.draft)].map(({ field, text }) => ({
      path: `${path}.${documentPath(field, item as object)}`,
      text,
    }));
  }

  private async storeParts({ item, id, path }: Placed<'points_system', ConfiguredPointsSystem>): Promise<void> {
    const own = <K extends 'points_level' | 'points_trigger' | 'points_boost'>(kind: K): ResourceOf[K][] =>
      listOf(this.draft.catalog, kind).filter(({ systemId }) => systemId === id);
    const levels = await this.place('points_level', `${path}.levels`, item.levels ?? [], [BY_KEY], own('points_level'));
    await this.store('points_level', levels, (level) =>
      this.fields('points_level', level.item, { path: level.path, systemId: id }),
    );

    // Triggers and boosts have no key. An item is paired with an identical resource, or else with one for the same target.
    const triggers = (item.triggers ?? []).map((trigger, index) =>
      this.fields('points_trigger', trigger, { path: `${path}.triggers[${index}]`, systemId: id }),
    );
    const placedTriggers = await this.place(
      'points_trigger',
      `${path}.triggers`,
      triggers,
      [same(contentOf), same(targetOf)],
      own('points_trigger'),
    );
    await this.store('points_trigger', placedTriggers, (placed) => placed.item);

    const boosts = (item.boosts ?? []).map((boost, index) =>
      this.fields('points_boost', boost, { path: `${path}.boosts[${index}]`, systemId: id }),
    );
    const placedBoosts = await this.place(
      'points_boost',
      `${path}.boosts`,
      boosts,
      [same(contentOf), same(nameOf)],
      own('points_boost'),
    );
    await this.store('points_boost', placedBoosts, (placed) => placed.item);
  }

  private fields<K extends DocumentKind>(
    kind: K,
    item: object,
    { path, ...more }: { path: string; current?: ResourceOf[K] | undefined; systemId?: string },
  ): Fields<K> {
    return fieldsOf(kind, item, { path, references: this.references }, { ...more, today: this.today });
  }

  /** Problems of references come first. Violated rules that follow from them are not reported. */
  private async allProblems(): Promise<DocumentProblem[]> {
    const { slices } = this;
    const problems = [...this.problems, ...this.references.problems];
    const broken = brokenPaths(problems);
    // The first check of a rule would make all of them at once.
    await this.each(ACHIEVEMENT_INDEXES, (make) => make(this.draft.catalog.achievements));
    for (const check of this.checks) {
      if (problems.length > MOST_PROBLEMS) break;
      problems.push(...check().filter(({ path }) => !broken.has(path)));
      if (slices.over) await slices.turn();
    }
    return problems;
  }
}

/** The fields of a change. A document names every field, so only those with a different value count as sent. */
const changed = <T extends object>(before: T, after: T): Partial<T> =>
  Object.fromEntries(differences(before, after).map((name) => [name, after[name as keyof T]])) as Partial<T>;
