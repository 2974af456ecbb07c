import { useQuery } from '@tanstack/react-query';
import { answer } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import { ago } from '../../ui/format.ts';
import { Code, Failed, Panel } from '../../ui/parts.tsx';

const SHOWN = 8;

/** The latest changes by administrators. */
export function Changes() {
  const entries = useQuery({
    queryKey: ['audit-log', 'newest'],
    queryFn: () => answer(admin.GET('/v1/audit-log', { params: { query: { limit: SHOWN, skip: 0, changes: true } } })),
  });
  return (
    <Panel title="Latest changes">
      {entries.isError && <Failed error={entries.error} />}
      <ul>
        {entries.data?.map(({ at, action, kind, name, userId, who }, index) => (
          <li key={index} className="flex gap-3 py-0.5">
            <span className="min-w-0 grow truncate">
              {action} {kind.replaceAll('_', ' ')} {name ?? userId ?? ''} <Code>{who}</Code>
            </span>
            <span className="whitespace-nowrap text-muted">{ago(at)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
