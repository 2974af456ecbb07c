import { useQuery } from '@tanstack/react-query';
import { answer } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import { ago, moment } from '../../ui/format.ts';
import { Code, Failed, Panel } from '../../ui/parts.tsx';

/** Administrators' changes of the user. */
export function UserHistory({ id }: { id: string }) {
  const entries = useQuery({
    queryKey: ['user', id, 'audit'],
    queryFn: () =>
      answer(admin.GET('/v1/audit-log', { params: { query: { userId: id, limit: 20, skip: 0, changes: true } } })),
  });
  return (
    <Panel title="Changes by administrators">
      {entries.isError && <Failed error={entries.error} />}
      {entries.data?.length === 0 && <p className="text-muted">No administrator has changed this user.</p>}
      <ul className="flex flex-col gap-1.5">
        {entries.data?.map(({ at, who, action, kind }, index) => (
          <li key={`${at} ${index}`}>
            {action} {kind.replaceAll('_', ' ')}
            <span className="block text-xs text-muted" title={moment(at)}>
              {ago(at)} · <Code>{who}</Code>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
