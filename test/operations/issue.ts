import type { AdminIssue } from '../../src/domain/administration/admin.ts';

type Verdict = Pick<AdminIssue, 'severity' | 'message' | 'level' | 'reason'>;

/** What an issue says, under the names of today and those that older clients read. */
export const says = (severity: 'error' | 'warning', message: string): Verdict => ({
  severity,
  message,
  level: severity,
  reason: message,
});
