import { isDeepStrictEqual } from 'node:util';
import { v7 as uuid } from 'uuid';
import type { Achievement, Catalog, Leaderboard, PointsTrigger } from '../domain/catalog.ts';
import type { EventSettings, StreakSettings } from '../domain/fields/tenant-settings.ts';
import { type Kind, LISTS } from '../domain/kinds.ts';
import type { MessageSettings } from '../domain/notifications/message-settings.ts';
import { replaceStreaks } from '../domain/streaks/streak-settings.ts';
import { Slices } from '../pacing/slices.ts';
import {
  differences,
  type Fields,
  KINDS,
  listOf,
  parentOf,
  type Resource,
  type ResourceOf,
} from './resource-fields.ts';
import type { RuleSettings } from './rules/webhook.ts';

export interface Change {
  kind: Kind;
  before: Resource | null;
  after: Resource | null;
}

interface DraftOptions {
  nextNo: number;
  nowMs: number;
  settings?: RuleSettings;
}

const STRICT: RuleSettings = { webhookAllowPrivate: false };

/**
 * A catalog that is being edited. Setting a resource to its current value is not a change. Lists are never changed in
 * place.
 */
export class CatalogDraft {
  readonly catalog: Catalog;
  readonly before: Catalog;
  readonly nowMs: number;
  readonly settings: RuleSettings;
  private no: number;

  constructor(before: Catalog, { nextNo, nowMs, settings = STRICT }: DraftOptions) {
    this.before = before;
    this.settings = settings;
    this.nowMs = nowMs;
    this.no = nextNo;
    this.catalog = { ...before };
  }

  get nextNo(): number {
    return this.no;
  }

  get<K extends Kind>(kind: K, id: string): ResourceOf[K] | undefined {
    return listOf(this.catalog, kind).find((resource) => resource.id === id);
  }

  /** Adds a resource with a new number, as the newest of its kind. */
  create<K extends Kind>(kind: K, fields: Fields<K>, id: string = uuid()): ResourceOf[K] {
    return this.storeAll(kind, [{ id, fields }])[0]!;
  }

  update<K extends Kind>(kind: K, id: string, fields: Fields<K>): ResourceOf[K] {
    if (this.get(kind, id) === undefined) throw new Error(`There is no ${kind} ${id} in the draft.`);
    return this.storeAll(kind, [{ id, fields }])[0]!;
  }

  /** Replaces existing resources and adds the others with new numbers, in order. O(resources of the kind). */
  storeAll<K extends Kind>(kind: K, all: readonly { id: string; fields: Fields<K> }[]): ResourceOf[K][] {
    const list = [...listOf(this.catalog, kind)];
    const ids = new Set(all.map(({ id }) => id));
    const places = new Map<string, number>();
    for (const [place, { id }] of list.entries()) if (ids.has(id)) places.set(id, place);
    const stored = all.map(({ id, fields }) => {
      const place = places.get(id);
      if (place !== undefined) return (list[place] = this.updated(kind, list[place]!, fields));
      const resource = this.created(kind, id, fields);
      list.push(resource);
      return resource;
    });
    this.setList(kind, list);
    return stored;
  }

  /** Deletes a resource, and a points system's parts with it. False if it does not exist. */
  remove(kind: Kind, id: string): boolean {
    return this.removeAll(kind, new Set([id])) > 0;
  }

  removeAll(kind: Kind, ids: ReadonlySet<string>): number {
    const list = listOf(this.catalog, kind);
    const remaining = list.filter(({ id }) => !ids.has(id));
    if (remaining.length === list.length) return 0;
    this.setList(kind, remaining);
    if (kind === 'points_system') {
      for (const part of ['points_level', 'points_trigger', 'points_boost'] as const) {
        this.setList(
          part,
          listOf(this.catalog, part).filter((resource) => !ids.has(parentOf(resource) ?? '')),
        );
      }
    }
    return list.length - remaining.length;
  }

  /** Runs `work`. If it returns a text (a reason), undoes its edits. */
  attempt<T extends object>(work: () => T | string): T | string {
    const before = { ...this.catalog };
    const { no } = this;
    const outcome = work();
    if (typeof outcome === 'string') {
      Object.assign(this.catalog, before);
      this.no = no;
    }
    return outcome;
  }

  setStreaks(settings: StreakSettings): void {
    const { streaks, earnSince, streaksBefore } = replaceStreaks(this.before, settings, this.nowMs);
    Object.assign(this.catalog, { streaks, earnSince, streaksBefore });
  }

  setEvents(settings: EventSettings): void {
    this.catalog.events = settings;
  }

  setMessages(settings: MessageSettings): void {
    this.catalog.messages = settings;
  }

  /** All resources created (`before` is `null`), updated, and deleted (`after` is `null`). Runs in slices. */
  async changes(): Promise<Change[]> {
    const slices = new Slices();
    const changes: Change[] = [];
    for (const kind of KINDS) {
      if (listOf(this.before, kind) === listOf(this.catalog, kind)) continue;
      const before = new Map(listOf(this.before, kind).map((resource) => [resource.id, resource]));
      for (const after of listOf(this.catalog, kind)) {
        const earlier = before.get(after.id) ?? null;
        before.delete(after.id);
        // Unchanged resources are the same objects; even a large document changes few.
        if (earlier === after) continue;
        if (earlier === null || differences(earlier, after).length > 0) changes.push({ kind, before: earlier, after });
        if (slices.over) await slices.turn();
      }
      for (const earlier of before.values()) changes.push({ kind, before: earlier, after: null });
    }
    return changes;
  }

  streakChanges(): string[] {
    return differences(this.before.streaks, this.catalog.streaks);
  }

  eventChanges(): string[] {
    return differences(this.before.events, this.catalog.events);
  }

  messageChanges(): string[] {
    return differences(this.before.messages, this.catalog.messages);
  }

  private created<K extends Kind>(kind: K, id: string, fields: Fields<K>): ResourceOf[K] {
    const stored = { id, no: this.no++, created: this.nowMs, updated: this.nowMs };
    return { ...fields, ...this.activation(kind, null, fields), ...stored } as unknown as ResourceOf[K];
  }

  private updated<K extends Kind>(kind: K, current: ResourceOf[K], fields: Fields<K>): ResourceOf[K] {
    if (differences(current, fields).length === 0) return current;
    return {
      ...current,
      ...fields,
      ...this.activation(kind, current, fields),
      ...this.renumbering(kind, current, fields),
      updated: this.nowMs,
    };
  }

  private setList(kind: Kind, list: Resource[]): void {
    (this.catalog[LISTS[kind]] as Resource[]) = list;
  }

  /** Records when a rule was activated that pays for times (nothing for earlier ones), or a leaderboard was finished. */
  private activation(kind: Kind, current: Resource | null, fields: object): object {
    if (kind === 'leaderboard') {
      const finishing =
        (fields as Leaderboard).status === 'finished' && (current as Leaderboard)?.status !== 'finished';
      return finishing ? { finished: this.nowMs } : {};
    }
    if (kind !== 'points_trigger' && kind !== 'achievement') return {};
    const [before, after] = [current as PointsTrigger | Achievement | null, fields as PointsTrigger | Achievement];
    if (kind === 'achievement' && after.leaderboardId === null) return {};
    const differs = before?.status !== 'active' || before.leaderboardId !== after.leaderboardId;
    return { activated: after.status === 'active' && differs ? this.nowMs : (before?.activated ?? null) };
  }

  /** A leaderboard that scores something else gets a new number, which has no scores, because its previous scores become meaningless. */
  private renumbering(kind: Kind, current: Resource, fields: object): object {
    if (kind !== 'leaderboard') return {};
    return scoresDiffer(current as Leaderboard, fields as Leaderboard) ? { no: this.no++ } : {};
  }
}

/** Fields that determine a leaderboard's scores. Changing one makes the scores meaningless. */
export const SCORING = [
  'rankBy',
  'aggregate',
  'order',
  'ties',
  'secondaryAttributeId',
  'secondaryOrder',
  'metricId',
  'pointsSystemId',
  'start',
  'startTime',
  'endTime',
  'breakdownAttributes',
  'teamAttributeId',
  'runUnit',
  'runInterval',
] as const satisfies (keyof Leaderboard)[];

const scoresDiffer = (
  one: Pick<Leaderboard, (typeof SCORING)[number]>,
  other: Pick<Leaderboard, (typeof SCORING)[number]>,
): boolean => SCORING.some((name) => !isDeepStrictEqual(one[name], other[name]));
