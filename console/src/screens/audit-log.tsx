import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import type { AdminRead } from '../api/queries.ts';
import { TextInput } from '../ui/fields.tsx';
import { ago, moment } from '../ui/format.ts';
import { Code, Empty, Failed, Screen, Waiting } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { DataTable } from '../ui/table.tsx';

type Entry = AdminRead<'/v1/audit-log'>[number];

const PAGE = 100;
/** Fields that changed, and their new values. */
const changes = ({ after, before }: Entry): string =>
  Object.entries(after ?? before ?? {})
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(', ');

const COLUMNS: readonly Column<Entry>[] = [
  { id: 'at', header: 'When', cell: ({ at }) => <span title={moment(at)}>{ago(at)}</span> },
  { id: 'who', header: 'Who', cell: ({ who }) => <Code>{who}</Code> },
  { id: 'what', header: 'Action', cell: ({ action, kind }) => `${action} ${kind.replaceAll('_', ' ')}` },
  { id: 'name', header: 'Subject', cell: ({ name, userId }) => name ?? userId ?? '' },
  {
    id: 'changes',
    header: 'New values',
    cell: (entry) => {
      const text = changes(entry);
      return text !== '' && <span title={text}>{text}</span>;
    },
  },
  { id: 'address', header: 'From', cell: ({ address }) => address !== null && <Code>{address}</Code> },
];

export function AuditLog() {
  const [kind, setKind] = useState('');
  const [who, setWho] = useState('');
  const entries = useInfiniteQuery({
    queryKey: ['audit-log', kind, who],
    initialPageParam: 0,
    queryFn: ({ pageParam }) =>
      answer(
        admin.GET('/v1/audit-log', {
          params: {
            query: {
              limit: PAGE,
              skip: pageParam,
              changes: false,
              ...(kind !== '' && { kind }),
              ...(who !== '' && { who }),
            },
          },
        }),
      ),
    getNextPageParam: (page, pages) => (page.length < PAGE ? undefined : pages.length * PAGE),
    placeholderData: keepPreviousData,
  });
  const { hasNextPage, isFetching, fetchNextPage } = entries;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const rows = entries.data?.pages.flat() ?? [];
  return (
    <Screen title="Audit log" about="Every change by an administrator and every call of an assistant, newest first.">
      <div className="flex flex-wrap gap-3">
        <TextInput
          className="max-w-48"
          aria-label="Kind"
          placeholder="Kind, such as metric"
          value={kind}
          onChange={({ target }) => setKind(target.value.trim())}
        />
        <TextInput
          className="max-w-48"
          aria-label="Who"
          placeholder="Key prefix, adm_…"
          value={who}
          onChange={({ target }) => setWho(target.value.trim())}
        />
      </div>
      {entries.isError && <Failed error={entries.error} />}
      {entries.isPending ? (
        !entries.isError && <Waiting />
      ) : rows.length === 0 ? (
        <Empty title={kind === '' && who === '' ? 'No changes yet' : 'No entries match'}>
          {kind === '' && who === ''
            ? 'Changes to the configuration and to users appear here.'
            : 'Clear the filters to see all entries.'}
        </Empty>
      ) : (
        <DataTable
          tall
          label="Audit log"
          columns={COLUMNS}
          rows={rows}
          rowId={({ at, requestId, action, kind, resourceId, name, userId }) =>
            [at, requestId, action, kind, resourceId, name, userId].join(' ')
          }
          onEnd={onEnd}
        />
      )}
    </Screen>
  );
}
