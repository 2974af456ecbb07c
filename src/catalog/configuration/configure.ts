import { v7 as uuid } from 'uuid';
import { MOST_RESOURCES, type Achievement } from '../../domain/catalog.ts';
import type { Configuration, ConfiguredAchievement, ConfiguredPointsSystem } from '../../domain/configuration.ts';
import { DAY_MS } from '../../domain/periods.ts';
import type { Kind } from '../../domain/kinds.ts';
import { Slices } from '../../slices.ts';
import type { CatalogDraft } from '../draft.ts';
import { contentOf, differences, listOf, resourcesIn, type Fields, type ResourceOf } from '../resource-fields.ts';
import { changeProblems } from '../rules/changes.ts';
import { problemsOf } from '../rules/rules.ts';
import { streakProblems } from '../rules/streaks.ts';
import { completeConfiguration } from './complete.ts';
import { documentPath } from './document-path.ts';
import { exportConfiguration } from './export.ts';
import * as fieldsOf from './fields.ts';
import { pair, same, type PairingRule } from './pair.ts';
import { ownerAt } from './owner.ts';
import { References, type DocumentProblem, type Noun } from './references.ts';
import { wantedByWebhooks } from './wanted-by-webhooks.ts';

/** Items stored before it is asked whether others have a turn. */
const AT_ONCE = 200;
/** With so many faults the rest of a document is not looked at. */
const MOST_PROBLEMS = 200;

/** An item of the document with the resource that it describes. */
interface Placed<K extends Kind, Item> {
  path: string;
  item: Item;
  id: string;
  current: ResourceOf[K] | undefined;
}

/**
 * Makes a draft what a document says: creates, updates and deletes. What is wrong with the document, by the rules
 * of its resources as well, is answered, and the draft is of no use then. O(resources), in slices.
 * @param options.today `YYYY-MM-DD`
 * @param options.without IDs of resources that go where the document does not name them
 */
export function configure(
  draft: CatalogDraft,
  sent: Configuration,
  { today, without }: { today: string; without?: ReadonlySet<string> },
): Promise<DocumentProblem[]> {
  return new Configuring(draft, completeConfiguration(sent, exportConfiguration(draft.catalog, without)), today).run();
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
    this.references = new References((path) => ownerAt({ document, path }));
  }

  async run(): Promise<DocumentProblem[]> {
    const tooMany = this.tooMany();
    if (tooMany !== null) return [tooMany];
    const { references, document, draft } = this;
    // First every resource that others refer to gets its ID, so that references may point anywhere.
    const attributes = await this.place('attribute', 'attributes', document.attributes, [same(nameOfAttribute)]);
    const metrics = await this.place('metric', 'metrics', document.metrics, [BY_KEY]);
    const achievements = await this.place('achievement', 'achievements', document.achievements, ACHIEVEMENT_RULES);
    const systems = await this.place('points_system', 'pointsSystems', document.pointsSystems, [BY_KEY]);
    for (const { item, id } of attributes) references.add(...attributeName(item), id);
    for (const { item, id } of metrics) references.add('metric', item.key, id);
    for (const { item, id } of systems) references.add('points system', item.key, id);
    for (const { item, id } of achievements) references.add(...achievementName(item), id);
    for (const { item, id } of achievements)
      if (item.id !== undefined) references.add('achievement ID', item.id.toLowerCase(), id);
    // Also under the ID that it has here, whether the document says so or not.
    for (const { id } of achievements) references.add('achievement ID', id, id);
    this.checkIds(achievements);
    const { before } = draft;
    for (const attribute of before.attributes) references.addPresent(...attributeName(attribute));
    for (const { key } of before.metrics) references.addPresent('metric', key);
    for (const { key } of before.pointsSystems) references.addPresent('points system', key);
    for (const achievement of before.achievements) references.addPresent(...achievementName(achievement));

    this.checkTypes(attributes);
    await this.store('attribute', attributes, ({ item }) => fieldsOf.attributeFields(item));
    await this.store('metric', metrics, ({ item }) => fieldsOf.metricFields(item));
    await this.store('achievement', achievements, ({ item, path, current }) =>
      fieldsOf.achievementFields(item, { path, references }, current),
    );
    await this.store('points_system', systems, ({ item }) => fieldsOf.systemFields(item));
    for (const system of systems) await this.storeParts(system);
    const boards = await this.place('leaderboard', 'leaderboards', document.leaderboards, [BY_KEY]);
    await this.store('leaderboard', boards, ({ item, path, current }) =>
      fieldsOf.leaderboardFields(item, { path, references }, { current, today: this.today }),
    );
    const streaks = fieldsOf.streakFields(document.streaks, { path: 'streaks', references }, draft.catalog.streaks);
    draft.setStreaks(streaks);
    this.checks.push(() =>
      [...streakProblems(streaks, draft.catalog)].map(({ field, text }) => ({
        path: `streaks.${documentPath(field)}`,
        text,
      })),
    );
    this.checks.push(() => wantedByWebhooks(draft.before, draft.catalog));
    return await this.allProblems();
  }

  /** Pairs the items of a list with the resources, and deletes the resources that are left. */
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

  private async store<K extends Kind, Item>(
    kind: K,
    all: Placed<K, Item>[],
    fields: (placed: Placed<K, Item>) => Fields<K>,
  ): Promise<void> {
    const { draft, slices } = this;
    for (let from = 0; from < all.length; from += AT_ONCE) {
      const some = all.slice(from, from + AT_ONCE);
      const stored = draft.storeAll(
        kind,
        some.map((placed) => ({ id: placed.id, fields: fields(placed) })),
      );
      // The rules look at the whole document, so they wait until all of it is there.
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
    const utcDay = Math.floor(this.draft.nowMs / DAY_MS);
    const ofChange =
      before === undefined ? [] : changeProblems(kind, { before, after, sent: changed(before, after), utcDay });
    return [...ofChange, ...problemsOf(kind, after, this.draft)].map(({ field, text }) => ({
      path: `${path}.${documentPath(field, partsOf(item as ConfiguredAchievement))}`,
      text,
    }));
  }

  /** Stores the levels, triggers and boosts of a points system. */
  private async storeParts({ item, id, path }: Placed<'points_system', ConfiguredPointsSystem>): Promise<void> {
    const { references } = this;
    const own = <K extends 'points_level' | 'points_trigger' | 'points_boost'>(kind: K): ResourceOf[K][] =>
      listOf(this.draft.catalog, kind).filter(({ systemId }) => systemId === id);

    const levels = await this.place('points_level', `${path}.levels`, item.levels ?? [], [BY_KEY], own('points_level'));
    await this.store('points_level', levels, (level) => fieldsOf.levelFields(level.item, id));

    // Triggers and boosts have no key: one that stays what it was is the same, then one for the same thing.
    const triggers = (item.triggers ?? []).map((trigger, index) =>
      fieldsOf.triggerFields(trigger, { path: `${path}.triggers[${index}]`, references }, id),
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
      fieldsOf.boostFields(boost, { path: `${path}.boosts[${index}]`, references }, id),
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

  /** Looked at first: what is far too long is not worked on. The resources that the document does not hold count as well. */
  private tooMany(): DocumentProblem | null {
    const { attributes, metrics, achievements, pointsSystems, leaderboards } = this.document;
    const parts = pointsSystems.map(({ levels, triggers, boosts }) =>
      [levels, triggers, boosts].reduce((sum, list) => sum + (list?.length ?? 0), 1),
    );
    const others = [attributes, metrics, achievements, leaderboards, this.draft.catalog.webhooks];
    const sum = others.reduce((all, list) => all + list.length, 0) + parts.reduce((all, one) => all + one, 0);
    if (sum <= Math.max(MOST_RESOURCES, resourcesIn(this.draft.before))) return null;
    const most = MOST_RESOURCES.toLocaleString('en-US');
    return { path: 'configuration', text: `has ${sum} resources, and may have ${most} in all` };
  }

  private checkIds(achievements: Placed<'achievement', ConfiguredAchievement>[]): void {
    const seen = new Set<string>();
    for (const { item, path } of achievements) {
      const id = item.id?.toLowerCase();
      if (id === undefined) continue;
      if (seen.has(id))
        this.problems.push({ path: `${path}.id`, text: 'another achievement of the document has this ID' });
      seen.add(id);
    }
  }

  /** An attribute's type cannot change: the values that users have would lose their meaning. */
  private checkTypes(attributes: Placed<'attribute', { key: string; type: string }>[]): void {
    const before = new Map(this.draft.before.attributes.map((attribute) => [nameOfAttribute(attribute), attribute]));
    const kept = new Set(attributes.map(({ current }) => current));
    for (const { item, current, path } of attributes) {
      const other = before.get(nameOfAttribute({ ...item, type: item.type === 'user' ? 'event' : 'user' }));
      if (current !== undefined || other === undefined || kept.has(other)) continue;
      const is = other.type === 'user' ? 'a user' : 'an event';
      this.problems.push({
        path: `${path}.type`,
        text: `'${item.key}' is ${is} attribute, and the type of an attribute cannot be changed: delete it first`,
      });
    }
  }

  /** Those of the references first; a rule that one of them broke as a consequence is not reported. */
  private async allProblems(): Promise<DocumentProblem[]> {
    const { slices } = this;
    const problems = [...this.problems, ...this.references.problems];
    // The rules know neither names nor the document's IDs, only references.
    const broken = new Set(
      problems.flatMap(({ path }) => {
        const known = path.replace(/\.achievement(Name|Id)/, '.achievementKey');
        return [known, ...[...known.matchAll(/\[/g)].map(({ index }) => known.slice(0, index))];
      }),
    );
    for (const check of this.checks) {
      if (problems.length > MOST_PROBLEMS) break;
      problems.push(...check().filter(({ path }) => !broken.has(path)));
      if (slices.over) await slices.turn();
    }
    return problems;
  }
}

const nameOfAttribute = ({ type, key }: { type: string; key: string }): string => `${type}:${key}`;
const attributeName = ({ type, key }: { type: 'user' | 'event'; key: string }): [Noun, string] => [
  `${type} attribute`,
  key,
];
const achievementName = ({ key, name }: { key?: string | null; name: string }): [Noun, string] =>
  key === undefined || key === null ? ['achievement without a key', name] : ['achievement', key];

/** How a composite names its parts. */
const partsOf = ({ achievementKeys, achievementNames }: ConfiguredAchievement): { keys: number; names: number } => ({
  keys: achievementKeys?.length ?? 0,
  names: achievementNames?.length ?? 0,
});

const BY_KEY = same(({ key }: { key: string }) => key);

/** Of those that share a name and have no ID that is known here, the oldest is the first of the document. */
const ACHIEVEMENT_RULES: PairingRule<ConfiguredAchievement, Achievement>[] = [
  { item: ({ id }) => id?.toLowerCase() ?? null, resource: ({ id }) => id },
  { item: ({ key }) => key ?? null, resource: ({ key }) => key },
  {
    item: ({ key, name }) => (key === undefined ? name : null),
    resource: ({ key, name }) => (key === null ? name : null),
  },
  // A key may be given to an achievement later, or be taken from it.
  { item: ({ key, name }) => (key === undefined ? name : null), resource: ({ name }) => name },
  { item: ({ name }) => name, resource: ({ key, name }) => (key === null ? name : null) },
];

/** What a document asks to be changed is what it says differently: it names every field of everything. */
const changed = <T extends object>(before: T, after: T): Partial<T> =>
  Object.fromEntries(differences(before, after).map((name) => [name, after[name as keyof T]])) as Partial<T>;

const targetOf = ({ type, metricId, achievementId }: Fields<'points_trigger'>): string =>
  JSON.stringify([type, metricId, achievementId]);
const nameOf = ({ name, userId }: Fields<'points_boost'>): string => JSON.stringify([name, userId]);
