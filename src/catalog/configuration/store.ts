import type { Pool } from 'pg';
import { type Clock, systemClock } from '../../clock.ts';
import { dateOf, earliestLocalDay } from '../../domain/periods.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { Catalog } from '../../domain/catalog.ts';
import type {
  Configuration,
  ConfigurationChange,
  ConfigurationVersion,
  DemoChoice,
  DemoResource,
} from '../../domain/configuration.ts';
import type { EventSettings } from '../../domain/fields/tenant-settings.ts';
import type { StreakSettingsChanges } from '../../domain/streaks/streak-settings.ts';
import { AppError } from '../../errors.ts';
import { demoResources, endDemo } from '../../postgres/catalog.ts';
import { configurationVersions, loadCatalogOfVersion } from '../../postgres/configuration-versions.ts';
import type { Announce } from '../../postgres/revisions.ts';
import type { Catalogs } from '../catalogs.ts';
import type { CatalogDraft } from '../draft.ts';
import { tooMuchWork } from '../event-work.ts';
import { createResources } from '../resources.ts';
import type { Problem } from '../rules/problem.ts';
import { streakProblems } from '../rules/resource-rules.ts';
import { changesOf, demoLeft } from './changes.ts';
import { configure } from './configure.ts';
import { exportConfiguration } from './export.ts';
import { changedStreaks } from './fields.ts';

export function createConfigurationStore(options: {
  pool: Pool;
  announce: Announce;
  clock?: Clock;
  catalogs?: Catalogs;
}) {
  const { pool, clock = systemClock } = options;
  const resources = createResources({ ...options, clock });

  /** The document that describes the current configuration; applying it changes nothing. */
  async function read(tenantNo: number): Promise<Required<Configuration>> {
    return exportConfiguration(await resources.read(tenantNo));
  }

  /** The versions that the audit log still has, newest first. */
  function versions(tenantNo: number, page: { limit: number; skip: number }): Promise<ConfigurationVersion[]> {
    return configurationVersions(pool, tenantNo, page);
  }

  /** The document that describes a version. Error 404 if the audit log does not have the version. */
  async function readVersion(tenantNo: number, version: number): Promise<Required<Configuration>> {
    const catalog = await loadCatalogOfVersion(pool, tenantNo, version);
    if (catalog === null) throw new AppError('not_found', `There is no version ${version} of the configuration.`);
    return exportConfiguration(catalog);
  }

  async function hasDemo(tenantNo: number): Promise<boolean> {
    return (await demoResources(pool, tenantNo)).size > 0;
  }

  /**
   * What applying the document would change, and which demo resources it would keep without naming them. Error 422 names every invalid field
   * (the first hundred).
   * @param choice what to do with these demo resources; by default they stay
   */
  async function diff(
    tenantNo: number,
    document: Configuration,
    choice?: DemoChoice,
  ): Promise<{ changes: ConfigurationChange[]; demo: DemoResource[] }> {
    const demo = await demoResources(pool, tenantNo);
    const { result, ...edited } = await resources.preview(tenantNo, (draft) =>
      configureStored(draft, document, demo, choice),
    );
    return { changes: await changesOf({ ...result, ...edited, demo }), demo: result.left };
  }

  /**
   * Applies a document completely or, with error 422, not at all. Applying it again changes nothing. Resolves when the change is stored and
   * announced. `demo` in the result: demo resources that the document did not name; without a choice they stay in force and remain the
   * demo's. Otherwise nothing belongs to the demo afterwards: resources that are named or kept become the tenant's own.
   * @param by who makes the change, for the audit log
   * @param choice what to do with demo resources that the document would keep without naming them
   */
  async function apply(
    tenantNo: number,
    document: Configuration,
    by: Author,
    choice?: DemoChoice,
  ): Promise<{ version: number; changes: ConfigurationChange[]; demo: DemoResource[] }> {
    const { result, version, ...edited } = await resources.edit(tenantNo, by, async (draft, client) => {
      const demo = await demoResources(client, tenantNo);
      const configured = await configureStored(draft, document, demo, choice);
      const decided = choice !== undefined || configured.left.length === 0;
      if (demo.size > 0 && decided) await endDemo(client, tenantNo);
      return { ...configured, demo };
    });
    const demo = choice === 'remove' ? [] : result.left;
    return { version, changes: await changesOf({ ...result, ...edited }), demo };
  }

  /** Applies the document as the demo if nothing was ever configured. Returns whether it did. */
  async function applyDemo(tenantNo: number, document: Configuration, by: Author): Promise<boolean> {
    const first = async (draft: CatalogDraft): Promise<void> => {
      if (draft.before.version === 0) await configureStored(draft, document, new Set(), 'keep');
    };
    const { changes } = await resources.edit(tenantNo, by, first, { demo: true });
    return changes.length > 0;
  }

  function streaks(tenantNo: number): Promise<Pick<Catalog, 'streaks' | 'metrics'>> {
    return resources.read(tenantNo);
  }

  /** Changes some streak settings and returns all. Error 422 if a rule is violated. */
  async function updateStreaks(
    tenantNo: number,
    changes: StreakSettingsChanges,
    by: Author,
  ): Promise<Pick<Catalog, 'streaks' | 'metrics'>> {
    const { result } = await resources.edit(tenantNo, by, (draft) => {
      const { settings, problems } = changedStreaks(draft.catalog, changes);
      refuse(problems.map(toPath));
      refuse([...streakProblems(settings, draft.catalog)].map(toPath));
      draft.setStreaks(settings);
      const tooMuch = tooMuchWork(draft);
      if (tooMuch !== null) refuse([{ path: 'metrics', text: tooMuch }]);
      return { streaks: settings, metrics: draft.catalog.metrics };
    });
    return result;
  }

  async function events(tenantNo: number): Promise<EventSettings> {
    return (await resources.read(tenantNo)).events;
  }

  async function updateEvents(tenantNo: number, changes: Partial<EventSettings>, by: Author): Promise<EventSettings> {
    const { result } = await resources.edit(tenantNo, by, (draft) => {
      draft.setEvents({ ...draft.catalog.events, ...changes });
      return draft.catalog.events;
    });
    return result;
  }

  /** The catalog before and after, and the demo resources that the document would keep without naming them. */
  async function configureStored(
    draft: CatalogDraft,
    document: Configuration,
    demo: ReadonlySet<string>,
    choice: DemoChoice | undefined,
  ): Promise<{ before: Catalog; after: Catalog; left: DemoResource[] }> {
    const left = demo.size === 0 ? [] : demoLeft(draft.before, document, demo);
    const today = dateOf(earliestLocalDay(clock.now()));
    const without = choice === 'remove' ? { without: new Set(left.map(({ id }) => id)) } : {};
    const problems = await configure(draft, document, { today, ...without });
    // The document may be invalid because it depends on the demo.
    if (problems.length > 0 && choice === 'remove' && left.length > 0) problems.push(WITHOUT_DEMO);
    refuse(problems);
    return { before: draft.before, after: draft.catalog, left };
  }

  return { read, versions, readVersion, hasDemo, diff, apply, applyDemo, streaks, updateStreaks, events, updateEvents };
}

export type ConfigurationStore = ReturnType<typeof createConfigurationStore>;

const toPath = ({ field, text }: Problem): { path: string; text: string } => ({ path: field, text });

const WITHOUT_DEMO = { path: 'demo', text: 'is left out here; with ?demo=keep (--keep-demo) it stays' };

const MOST_LISTED = 100;

function refuse(problems: { path: string; text: string }[]): void {
  if (problems.length === 0) return;
  const listed = problems.slice(0, MOST_LISTED).map(({ path, text }) => `${path}: ${text}`);
  const more = problems.length > MOST_LISTED ? [`and ${problems.length - MOST_LISTED} more`] : [];
  throw new AppError('unprocessable', [...listed, ...more].join('; '));
}
