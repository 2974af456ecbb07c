import { Type } from 'typebox';
import { AdminIssue } from '../../domain/administration/admin.ts';
import { ImportedOutcome, ImportedUser, ImportQuery } from '../../domain/imported-user.ts';
import { bulkItems, verdict } from '../bulk.ts';
import { operation } from '../operation.ts';

/** As much as a body may be at all: a user with ten years of days has some 100 KB a metric. */
const IMPORT_BODY_BYTES = 4_194_304;

const items = bulkItems(ImportedUser);

export const adminImportsCreate = operation({
  id: 'admin_imports_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/imports',
  summary: 'Bring users with their past from elsewhere',
  description: `Up to 100 users, each in one step: profile, totals with their days, achievements, streaks, points with their awards,
preferences. Nothing is announced and nothing awarded. Resources are found by their keys, achievements, triggers and boosts
also by ID or name. Parts that do not exist here, such as the days of an unknown metric, are not imported: \`skipped\` lists them
with their reasons, and the rest of the user is imported. A user with an unknown time zone is not imported: the status is \`skipped\`.
What is imported differently than given is a warning in \`issues\`. A user who exists is an error, unless the import of this name
brought the user before: so a call can be repeated. \`dryRun\` says the same and changes nothing.`,
  query: ImportQuery,
  body: items.body,
  bodyBytes: IMPORT_BODY_BYTES,
  responses: Object.fromEntries(
    [200, 201].map((status) => [
      status,
      Type.Object({ users: Type.Array(ImportedOutcome), issues: Type.Array(AdminIssue) }),
    ]),
  ),
  handle: async ({ catalogs, imports }, { tenant, by, body, query: { import: name, dryRun } }) => {
    const compiled = await catalogs.of(tenant.no);
    const { done, issues } = await items.each(body, async (users) =>
      (await imports.bring(compiled, users, { name, dryRun, by })).map((result) =>
        'refused' in result ? result.refused : result,
      ),
    );
    const warnings = done.flatMap(({ outcome: { id }, changed }) =>
      changed.map((message) => ({ id, ...verdict('warning', message) })),
    );
    const users = done.map(({ outcome }) => outcome);
    const status = users.some((user) => user.status === 'imported') ? 201 : 200;
    return { status, body: { users, issues: [...issues, ...warnings] } };
  },
});
