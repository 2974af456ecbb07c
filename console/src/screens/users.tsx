import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useCallback, useDeferredValue, useState } from 'react';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import type { User } from '../api/queries.ts';
import { ago } from '../ui/format.ts';
import { Empty, Failed, Screen, Tag, Waiting } from '../ui/parts.tsx';
import { DataTable, type Column } from '../ui/table.tsx';

const PAGE = 100;

const COLUMNS: readonly Column<User>[] = [
  {
    id: 'id',
    header: 'ID',
    cell: ({ id }) => (
      <Link to="/users/$id" params={{ id }} className="font-medium text-accent hover:underline">
        {id}
      </Link>
    ),
  },
  { id: 'name', header: 'Name', cell: ({ name }) => name ?? '' },
  { id: 'email', header: 'E-mail', cell: ({ email }) => email ?? '', spare: true },
  { id: 'tz', header: 'Time zone', cell: ({ tz }) => tz ?? 'UTC', spare: true },
  { id: 'control', header: 'Group', cell: ({ control }) => (control ? <Tag>control</Tag> : ''), spare: true },
  { id: 'updated', header: 'Updated', cell: ({ updated }) => ago(updated) },
];

export function Users() {
  const [typed, setTyped] = useState('');
  const search = useDeferredValue(typed.trim());
  const users = useInfiniteQuery({
    queryKey: ['users', search],
    initialPageParam: 0,
    queryFn: ({ pageParam }) =>
      answer(
        admin.GET('/v1/users', {
          params: { query: { limit: PAGE, skip: pageParam, ...(search !== '' && { search }) } },
        }),
      ),
    getNextPageParam: (page, pages) => (page.length < PAGE ? undefined : pages.length * PAGE),
    placeholderData: keepPreviousData,
  });
  const { hasNextPage, isFetching, fetchNextPage } = users;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const rows = users.data?.pages.flat() ?? [];
  return (
    <Screen title="Users">
      <div className="flex flex-wrap items-center gap-3">
        <input
          type="search"
          aria-label="Search users"
          placeholder="Begins with: ID, name or e-mail"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          className="h-9 w-full max-w-sm rounded-md border border-line-strong bg-surface px-2.5"
        />
        <output className="text-muted">
          {users.isFetching ? 'Loading …' : `${rows.length}${hasNextPage ? '+' : ''} shown`}
        </output>
      </div>
      {users.isError && <Failed error={users.error} retry={() => void users.refetch()} />}
      {users.isPending ? (
        !users.isError && <Waiting />
      ) : rows.length > 0 ? (
        <DataTable tall label="Users" columns={COLUMNS} rows={rows} rowId={({ id }) => id} onEnd={onEnd} />
      ) : search === '' ? (
        <NoUsers />
      ) : (
        <Empty title={`No user begins with “${search}”`}>
          Users are found by how their ID, name or e-mail address begins.
        </Empty>
      )}
    </Screen>
  );
}

const NoUsers = () => (
  <Empty
    title="No users yet"
    curl={`curl -X POST ${location.protocol}//${location.hostname}:8080/v1/metrics/<metric>/event \\
  -H "X-API-KEY: $ADMIN_KEY" -H "Content-Type: application/json" \\
  -d '{"user":{"id":"ada","name":"Ada","tz":"Europe/London"},"value":1}'`}
  >
    A user is there from the first event on. Send one for a metric:
  </Empty>
);
