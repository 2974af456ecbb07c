import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../clock.ts';
import type { Author } from '../domain/administration/author.ts';
import type { Achievement, Catalog, Webhook } from '../domain/catalog.ts';
import { AppError } from '../errors.ts';
import { type AuditEntry, writeAudit } from '../postgres/access/audit.ts';
import { requestFills, trackBoards } from '../postgres/boards/progress.ts';
import { replaceJobs } from '../postgres/jobs.ts';
import { catalogVersions, loadCatalog, lockCatalog, type ResourceRow, saveCatalog } from '../postgres/catalog.ts';
import type { Announce } from '../postgres/revisions.ts';
import { transaction } from '../postgres/transaction.ts';
import { dropWebhookSecrets, setWebhookSecrets } from '../postgres/webhooks/secrets.ts';
import { boardsToTrack, hasBegun, rescored, switchedOn } from './boards-to-track.ts';
import type { Catalogs } from './catalogs.ts';
import { changesOf, type Edit } from './configuration/changes.ts';
import { CatalogDraft, type Change } from './draft.ts';
import { differences, identityOf, parentOf } from './resource-fields.ts';
import type { RuleSettings } from './rules/webhook.ts';

async function auditEntries(edit: Edit): Promise<AuditEntry[]> {
  const recorded = edit.changes.filter(({ kind }) => kind !== 'webhook');
  const changes = await changesOf({ ...edit, changes: recorded }, { withCreated: true });
  const entries = changes.map(({ action, kind, name, before, after }, index) => {
    const change = recorded[index];
    return { action, kind, id: (change?.after ?? change?.before)?.id ?? null, name, before, after };
  });
  return [...entries, ...edit.changes.filter(({ kind }) => kind === 'webhook').map(plainEntry)];
}

function plainEntry({ kind, before, after }: Change): AuditEntry {
  const { id, name } = (after ?? before)! as { id: string; name: string };
  if (before === null || after === null) return { action: before === null ? 'create' : 'delete', kind, id, name };
  const changed = differences(before, after);
  // A rotation has no fields to show.
  if (changed.length === 1 && changed[0] === 'secretNo') return { action: 'rotate', kind, id, name };
  const fields = (of: object): object =>
    Object.fromEntries(Object.entries(of).filter(([key]) => changed.includes(key)));
  return { action: 'update', kind, id, name, before: fields(before), after: fields(after) };
}

const CONDITIONS = [
  'trigger',
  'metricId',
  'metricValue',
  'startDate',
  'endDate',
  'streakLength',
  'anniversaryYears',
  'achievementIds',
  'requires',
  'userAttributes',
  'eventAttributes',
] as const satisfies (keyof Achievement)[];

/**
 * Achievements that an edit activated, or changed while active, and weekly ones if weeks begin on another day now. Excludes those
 * that only calls complete.
 */
function toBackdate(
  changes: readonly Change[],
  { achievements }: Catalog,
  streakChanges: readonly string[],
): Achievement[] {
  const edited = changes.flatMap(({ kind, before, after }) => {
    if (kind !== 'achievement' || after === null) return [];
    const [was, is] = [before as Achievement | null, after as Achievement];
    if (is.status !== 'active' || is.trigger === 'api') return [];
    const same = was?.status === 'active' && CONDITIONS.every((name) => isDeepStrictEqual(was[name], is[name]));
    return same ? [] : [is];
  });
  const weekly = streakChanges.includes('weekStart')
    ? achievements.filter(({ status, repeat }) => status === 'active' && repeat === 'weekly')
    : [];
  return [...new Set([...edited, ...weekly])];
}

const SECRET_BYTES = 32;

/** A signing secret: 256 random bits in Base64, after a prefix that identifies it. */
const newSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

/** Creates secrets for new webhooks and rotations, and deletes those of deleted webhooks, in the transaction of the changes. */
async function keepSecrets(client: PoolClient, tenantNo: number, nowMs: number, changes: Change[]): Promise<void> {
  const webhooks = changes.filter(({ kind }) => kind === 'webhook') as {
    before: Webhook | null;
    after: Webhook | null;
  }[];
  const fresh = webhooks.flatMap(({ before, after }) =>
    after === null || before?.secretNo === after.secretNo ? [] : [{ id: after.id, secret: newSecret() }],
  );
  const gone = webhooks.flatMap(({ before, after }) => (after === null && before !== null ? [before.id] : []));
  if (fresh.length > 0) await setWebhookSecrets(client, tenantNo, nowMs, fresh);
  if (gone.length > 0) await dropWebhookSecrets(client, gone);
}

interface Edited<T> {
  result: T;
  version: number;
  changes: Change[];
  streakChanges: string[];
  eventChanges: string[];
  messageChanges: string[];
}

const settingsChanges = (draft: CatalogDraft): Pick<Edit, 'streakChanges' | 'eventChanges' | 'messageChanges'> => ({
  streakChanges: draft.streakChanges(),
  eventChanges: draft.eventChanges(),
  messageChanges: draft.messageChanges(),
});

const noTenant = (): AppError => new AppError('not_found', 'There is no such tenant.');

/** Stored resources of every kind. Only this class reads and writes them for edits. */
export function createResources(options: {
  pool: Pool;
  announce: Announce;
  clock: Clock;
  catalogs?: Catalogs;
  settings?: RuleSettings;
}) {
  const { pool, announce, clock, catalogs, settings } = options;
  /** A tenant's stored resources, not to be changed. Error 404 for an unknown tenant. */
  async function read(tenantNo: number): Promise<Catalog> {
    const loaded = catalogs?.get(tenantNo)?.catalog;
    const isCurrent =
      loaded !== undefined && (await catalogVersions(pool, [tenantNo])).get(tenantNo) === loaded.version;
    return isCurrent ? loaded : load(pool, tenantNo);
  }

  /** Reads only what has changed since this process loaded the catalog. */
  async function load(client: Pool | PoolClient, tenantNo: number): Promise<Catalog> {
    const catalog = await loadCatalog(client, tenantNo, catalogs?.get(tenantNo)?.catalog);
    if (catalog === null) throw noTenant();
    return catalog;
  }

  async function preview<T>(tenantNo: number, work: (draft: CatalogDraft) => T | Promise<T>): Promise<Edited<T>> {
    const before = await load(pool, tenantNo);
    const draft = draftOf(before, { nextNo: 1, nowMs: clock.now() });
    const result = await work(draft);
    const settings = settingsChanges(draft);
    return { result, version: before.version, changes: await draft.changes(), ...settings };
  }

  /**
   * Edits a tenant's catalog. Edits of a tenant run one after another. Each is atomic, creates a new version if it changed anything, and is announced to
   * every process. If `work` throws, nothing is stored. `work` must check the rules (`rules/`) itself; `client` is in the edit's transaction.
   * @param options.demo whether created resources belong to the demo
   */
  async function edit<T>(
    tenantNo: number,
    by: Author,
    work: (draft: CatalogDraft, client: PoolClient) => T | Promise<T>,
    { demo = false }: { demo?: boolean } = {},
  ): Promise<Edited<T>> {
    const edited = await transaction(pool, async (client) => {
      const nextNo = await lockCatalog(client, tenantNo);
      if (nextNo === null) throw noTenant();
      const before = await load(client, tenantNo);
      const nowMs = clock.now();
      const draft = draftOf(before, { nextNo, nowMs });
      const result = await work(draft, client);
      const changes = await draft.changes();
      const settings = settingsChanges(draft);
      const { streakChanges, eventChanges, messageChanges } = settings;
      const came = { result, changes, ...settings };
      const areReplaced = streakChanges.length + eventChanges.length + messageChanges.length > 0;
      const changed = changes.length > 0 || areReplaced;
      if (!changed) return { ...came, version: before.version, changed };
      const version = await saveCatalog(client, {
        tenantNo,
        version: before.version,
        nextNo: draft.nextNo,
        nowMs,
        events: draft.catalog.events,
        messages: messageChanges.length > 0 ? draft.catalog.messages : null,
        streaks: draft.catalog.streaks,
        earnSince: draft.catalog.earnSince ?? null,
        streaksBefore: draft.catalog.streaksBefore ?? [],
        settingsReplaced: areReplaced ? before : null,
        demo,
        created: changes.filter(({ before: earlier }) => earlier === null).map(rowOf),
        updated: changes.filter(({ before: earlier, after }) => earlier !== null && after !== null).map(rowOf),
        deleted: changes.flatMap(({ before: earlier, after }) =>
          after === null && earlier !== null ? [earlier.id] : [],
        ),
      });
      await keepSecrets(client, tenantNo, nowMs, changes);
      const entries = await auditEntries({ before, after: draft.catalog, changes, ...settings });
      await writeAudit(client, { tenantNo, nowMs, by, version, entries });
      const achievements = toBackdate(changes, draft.catalog, streakChanges);
      await replaceJobs(
        client,
        'backdating',
        tenantNo,
        achievements.map(({ id, no }) => ({ subjectId: id, parameters: { achievementNo: no } })),
      );
      const boards = switchedOn(changes);
      if (boards.length > 0) await trackBoards(client, tenantNo, boardsToTrack(boards, nowMs));
      const toFill = new Set([...boards, ...rescored(draft.catalog, streakChanges)]);
      const begun = [...toFill].filter((board) => hasBegun(board, nowMs));
      if (begun.length > 0) await requestFills(client, tenantNo, begun);
      return { ...came, version, changed };
    });
    const { changed, ...answer } = edited;
    if (changed) await publish(tenantNo, edited.version);
    return answer;
  }

  function draftOf(before: Catalog, at: { nextNo: number; nowMs: number }): CatalogDraft {
    return new CatalogDraft(before, settings === undefined ? at : { ...at, settings });
  }

  async function publish(tenantNo: number, version: number): Promise<void> {
    // The edit is stored. If this process cannot load it now, it detects it later, like the others.
    await Promise.all([
      announce(`${tenantNo}:${version}`),
      catalogs?.atLeast(tenantNo, version).catch(() => undefined),
    ]);
  }

  return { read, preview, edit };
}

export type Resources = ReturnType<typeof createResources>;

function rowOf({ kind, after }: Change): ResourceRow {
  const { id, no, created: _created, updated: _updated, ...doc } = after!;
  return { id, no, kind, parentId: parentOf(doc), identity: identityOf(kind, doc), doc };
}
