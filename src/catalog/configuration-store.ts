import type { Pool } from 'pg';
import { systemClock, type Clock } from '../clock.ts';
import type { Author } from '../domain/author.ts';
import type { Catalog, StreakSettings } from '../domain/catalog.ts';
import type { Configuration, ConfigurationChange } from '../domain/configuration.ts';
import { AppError } from '../errors.ts';
import type { Announce } from '../postgres/revisions.ts';
import type { Catalogs } from './catalogs.ts';
import { changesOf } from './configuration/changes-of.ts';
import { configure } from './configuration/configure.ts';
import { exportConfiguration } from './configuration/export.ts';
import type { CatalogDraft } from './draft.ts';
import { Resources } from './resources.ts';
import { daysOffAfter } from './days-off.ts';
import { streakProblems } from './rules/streaks.ts';

/** A tenant's configuration as one document, by key. */
export class ConfigurationStore {
  private readonly resources: Resources;
  private readonly clock: Clock;

  /** @param options.catalogs of this process: a change resolves when they have it */
  constructor(options: { pool: Pool; announce: Announce; clock?: Clock; catalogs?: Catalogs }) {
    this.clock = options.clock ?? systemClock;
    this.resources = new Resources({ ...options, clock: this.clock });
  }

  /** The document that, applied, changes nothing. */
  async read(tenantNo: number): Promise<Required<Configuration>> {
    return exportConfiguration(await this.resources.read(tenantNo));
  }

  /** What applying the document would change. 422 names every field that is wrong (the first ten). */
  async diff(tenantNo: number, document: Configuration): Promise<ConfigurationChange[]> {
    const { result, ...edited } = await this.resources.preview(tenantNo, (draft) => this.configure(draft, document));
    return changesOf({ ...result, ...edited });
  }

  /**
   * Makes the configuration what the document says, as a whole or (422) not at all. Applying a document again
   * changes nothing. Resolves when it is stored and announced.
   * @param by who asks for it, for the record
   */
  async apply(
    tenantNo: number,
    document: Configuration,
    by: Author,
  ): Promise<{ version: number; changes: ConfigurationChange[] }> {
    const { result, version, ...edited } = await this.resources.edit(tenantNo, by, (draft) =>
      this.configure(draft, document),
    );
    return { version, changes: await changesOf({ ...result, ...edited }) };
  }

  /** Applies the document if nothing was ever configured; whether it did. */
  async applyFirst(tenantNo: number, document: Configuration, by: Author): Promise<boolean> {
    const { changes } = await this.resources.edit(tenantNo, by, async (draft) => {
      if (draft.before.version === 0) await this.configure(draft, document);
    });
    return changes.length > 0;
  }

  async streaks(tenantNo: number): Promise<StreakSettings> {
    return (await this.resources.read(tenantNo)).streaks;
  }

  /** Sets what is given of the streak settings; all of them as they are then. 422 for what breaks a rule. */
  async updateStreaks(tenantNo: number, changes: StreakSettingsChanges, by: Author): Promise<StreakSettings> {
    const { result } = await this.resources.edit(tenantNo, by, (draft) => {
      const settings = changedStreaks(draft.catalog.streaks, changes);
      refuse([...streakProblems(settings, draft.catalog)].map(({ field, text }) => ({ path: field, text })));
      draft.setStreaks(settings);
      return settings;
    });
    return result;
  }

  /** The catalog before and after. */
  private async configure(draft: CatalogDraft, document: Configuration): Promise<{ before: Catalog; after: Catalog }> {
    refuse(await configure(draft, document, new Date(this.clock.now()).toISOString().slice(0, 10)));
    return { before: draft.before, after: draft.catalog };
  }
}

/** Streak settings to set; those of the freezes one by one. */
export type StreakSettingsChanges = Partial<Omit<StreakSettings, 'freezes'>> & {
  freezes?: Partial<StreakSettings['freezes']>;
};

/** `changes` may come from a request, with fields that mean nothing to us: they are left behind. */
function changedStreaks(current: StreakSettings, changes: StreakSettingsChanges): StreakSettings {
  const freezes = onlyFieldsOf(current.freezes, { ...current.freezes, ...changes.freezes });
  const metrics = (changes.metrics ?? current.metrics).map(({ metricId, threshold }) => ({
    metricId: metricId.toLowerCase(),
    threshold,
  }));
  const settings = { ...onlyFieldsOf(current, { ...current, ...changes }), metrics, freezes };
  return { ...settings, daysOff: daysOffAfter(current, settings.frequency, changes.daysOff) };
}

const onlyFieldsOf = <T extends object>(model: T, value: object): T =>
  Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(model, name))) as T;

const MOST_TOLD = 10;

function refuse(problems: { path: string; text: string }[]): void {
  if (problems.length === 0) return;
  const told = problems.slice(0, MOST_TOLD).map(({ path, text }) => `${path}: ${text}`);
  const more = problems.length > MOST_TOLD ? [`and ${problems.length - MOST_TOLD} more`] : [];
  throw new AppError('unprocessable', [...told, ...more].join('; '));
}
