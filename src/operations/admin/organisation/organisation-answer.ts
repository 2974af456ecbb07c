import type { OrganisationSettings } from '../../../domain/admin.ts';
import type { OrganisationRow } from '../../../postgres/organisation.ts';

/** What of the organisation is not in the contract's settings; the control share, which is in both, exactly. */
export const organisationAnswer = ({
  name,
  multiTenancy,
  controlShare,
  boardValues,
  rateLimit,
}: OrganisationRow): OrganisationSettings => ({
  name,
  multiTenancy,
  controlShare,
  boardValues,
  rateLimit,
});
