import { DEFAULT_BRANDING, type Settings, type SettingsChanges } from '../../../domain/settings.ts';
import type { OrganisationRow } from '../../../postgres/organisation.ts';

/** The organisation's settings as the contract shapes them. */
export const settingsAnswer = (row: OrganisationRow): Settings => ({
  branding: { appName: row.name, ...DEFAULT_BRANDING, ...row.branding },
  experimentation: {
    controlRatio: Math.round(row.controlShare * 100),
    userActivationWindow: row.userActivationWindow,
  },
  aggregationPeriod: row.aggregationPeriod,
});

/** What a request in that shape sets. */
export function changedSettings(changes: SettingsChanges): Partial<OrganisationRow> {
  const { branding, experimentation, aggregationPeriod } = changes;
  const { controlRatio, userActivationWindow } = experimentation ?? {};
  return {
    ...(branding !== undefined && { branding }),
    ...(controlRatio !== undefined && { controlShare: controlRatio / 100 }),
    ...(userActivationWindow !== undefined && { userActivationWindow }),
    ...(aggregationPeriod !== undefined && { aggregationPeriod }),
  };
}
