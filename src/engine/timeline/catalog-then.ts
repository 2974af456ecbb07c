import type { Pool } from 'pg';
import type { Frequency } from '../../domain/periods.ts';
import type { Kind } from '../../domain/kinds.ts';
import type { Named } from '../../domain/administration/timeline.ts';
import {
  docsThen,
  renumbered,
  resourcesById,
  resourcesByNo,
  streaksThen,
  type StoredResource,
  type Then,
} from '../../postgres/timeline/catalog-then.ts';

export interface ResourceThen {
  doc: Record<string, unknown>;
  /** Whether this version is known: former versions are stored only since the timeline exists. */
  known: boolean;
}

/** Kinds of which every resource of that time is loaded, even if no row names it. */
const WHOLE: readonly Kind[] = ['points_level', 'leaderboard'];

const keyOf = (id: string, { version, atMs }: Then): string => `${id} ${version} ${atMs}`;

/** The resources that a page of a timeline is about, current and former versions, deleted ones included. */
export class CatalogThen {
  private readonly pool: Pool;
  private readonly tenantNo: number;
  private readonly frequencyNow: Frequency;
  private readonly ofNo = new Map<number, StoredResource>();
  private readonly ofId = new Map<string, StoredResource>();
  private readonly docs = new Map<string, ResourceThen>();
  private readonly frequencies = new Map<string, Frequency>();

  constructor(pool: Pool, tenantNo: number, frequencyNow: Frequency) {
    this.pool = pool;
    this.tenantNo = tenantNo;
    this.frequencyNow = frequencyNow;
  }

  async load(nos: Iterable<number>): Promise<void> {
    const distinct = [...new Set(nos)];
    for (const one of await resourcesByNo(this.pool, this.tenantNo, distinct, WHOLE)) this.add(one);
    const before = await renumbered(
      this.pool,
      this.tenantNo,
      distinct.filter((no) => !this.ofNo.has(no)),
    );
    await this.loadById(before.values());
    for (const [no, id] of before) {
      const resource = this.ofId.get(id);
      if (resource !== undefined) this.ofNo.set(no, resource);
    }
  }

  async loadById(ids: Iterable<string>): Promise<void> {
    const missing = [...new Set(ids)].filter((id) => !this.ofId.has(id));
    for (const resource of await resourcesById(this.pool, this.tenantNo, missing)) this.add(resource);
  }

  async loadThen(items: readonly { resource: StoredResource; when: Then }[]): Promise<void> {
    const questions = new Map(
      items
        .filter(({ resource }) => resource.revised)
        .map(({ resource: { id }, when }) => [keyOf(id, when), { id, ...when }]),
    );
    const docs = await docsThen(this.pool, this.tenantNo, [...questions.values()]);
    for (const [index, [key, question]] of [...questions].entries()) {
      const answer = docs[index];
      if (answer === null || answer === undefined) continue;
      this.docs.set(key, { doc: answer.doc, known: isKnown(question, answer.sinceMs) });
    }
  }

  async loadFrequencies(moments: readonly Then[]): Promise<void> {
    const settings = await streaksThen(this.pool, this.tenantNo, moments);
    for (const [index, then] of moments.entries()) {
      const frequency = settings[index]?.doc['frequency'] as Frequency | undefined;
      this.frequencies.set(keyOf('', then), frequency ?? this.frequencyNow);
    }
  }

  byNo(no: number): StoredResource | null {
    return this.ofNo.get(no) ?? null;
  }

  byId(id: string): StoredResource | null {
    return this.ofId.get(id) ?? null;
  }

  there(kind: Kind, atMs: number): StoredResource[] {
    return [...this.ofId.values()].filter(
      (resource) =>
        resource.kind === kind &&
        resource.createdMs <= atMs &&
        (resource.deletedMs === null || resource.deletedMs > atMs),
    );
  }

  /** A resource's version at a time. Requires `loadThen`. */
  at(resource: StoredResource, then: Then): ResourceThen {
    const { id, doc, updatedMs } = resource;
    return this.docs.get(keyOf(id, then)) ?? { doc, known: isKnown(then, updatedMs) };
  }

  /** The streak frequency configured at a time. Requires `loadFrequencies`. */
  frequency(then: Then): Frequency {
    return this.frequencies.get(keyOf('', then)) ?? this.frequencyNow;
  }

  /** A resource's current name, or its last one. */
  named(id: string | null | undefined): Named {
    const resource = this.ofId.get(id ?? '');
    return resource === undefined ? { id: id ?? null, key: null, name: id ?? '' } : namedOf(resource);
  }

  /** The same by number. */
  namedNo(no: number): Named {
    const resource = this.byNo(no);
    return resource === null ? { id: null, key: null, name: String(no) } : namedOf(resource);
  }

  private add(resource: StoredResource): void {
    this.ofNo.set(resource.no, resource);
    this.ofId.set(resource.id, resource);
  }
}

/** A recorded version is always known, because replaced versions are stored. */
const isKnown = ({ version, atMs }: Then, sinceMs: number | null): boolean =>
  version !== null || (sinceMs !== null && sinceMs <= atMs);

function namedOf({ id, doc }: StoredResource): Named {
  const { key, name } = doc as { key?: string | null; name?: string };
  return { id, key: key ?? null, name: name ?? key ?? '' };
}
