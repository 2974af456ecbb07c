import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { eventCurl } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import type { AdminRead } from '../api/queries.ts';
import { SelectInput, TextInput } from '../ui/fields.tsx';
import { agoInRealTime, moment, number } from '../ui/format.ts';
import { Code, Empty, Failed, Screen, Tag, Waiting } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { DataTable } from '../ui/table.tsx';

type Request = AdminRead<'/v1/requests'>[number];

const LIVE_MS = 3_000;
const LIMIT = 1_000;

const tone = (status: number): 'good' | 'warn' | 'bad' => (status < 400 ? 'good' : status < 500 ? 'warn' : 'bad');

const COLUMNS: readonly Column<Request>[] = [
  {
    id: 'path',
    header: 'Request',
    cell: ({ method, path, error }) => (
      <div className="min-w-0">
        <Code>{`${method} ${path}`}</Code>
        {error !== undefined && <p className="text-xs text-muted">{error}</p>}
      </div>
    ),
    wraps: true,
  },
  {
    id: 'status',
    header: 'Status',
    value: ({ status }) => status,
    cell: ({ status }) => <Tag tone={tone(status)}>{status}</Tag>,
  },
  {
    id: 'duration',
    folds: true,
    header: 'Duration',
    align: 'right',
    value: ({ durationMs }) => durationMs,
    cell: ({ durationMs }) => `${number(durationMs)} ms`,
  },
  { id: 'key', folds: true, header: 'Key', cell: ({ key }) => <Code>{key}</Code> },
  { id: 'surface', folds: true, header: 'API', cell: ({ surface }) => (surface === 'admin' ? 'Admin' : 'Application') },
  { id: 'at', header: 'When', cell: ({ at }) => <span title={moment(at)}>{agoInRealTime(at)}</span> },
];

/** The latest requests of the tenant's keys. */
export function Requests() {
  const [only, setOnly] = useState<'' | 'failed'>('');
  const [text, setText] = useState('');
  const requests = useQuery({
    queryKey: ['requests'],
    queryFn: () => answer(admin.GET('/v1/requests', { params: { query: { limit: LIMIT } } })),
    refetchInterval: LIVE_MS,
  });
  const rows = requests.data?.filter(
    ({ status, path, key, error = '' }) =>
      (only === '' || status >= 400) && (path.includes(text) || key.startsWith(text) || error.includes(text)),
  );
  return (
    <Screen
      title="Requests"
      about="The latest API requests, newest first, for one hour, with the reason of a refusal. Bodies and query strings are not kept, and what this console reads is not listed."
    >
      <div className="flex flex-wrap gap-3">
        <TextInput
          className="max-w-72"
          aria-label="Path, reason or key"
          placeholder="Part of the path or reason, or a key prefix"
          value={text}
          onChange={({ target }) => setText(target.value.trim())}
        />
        <SelectInput
          className="max-w-48"
          aria-label="Status"
          value={only}
          onChange={({ target }) => setOnly(target.value as '' | 'failed')}
        >
          <option value="">All statuses</option>
          <option value="failed">Errors (400 and above)</option>
        </SelectInput>
      </div>
      {requests.isError && <Failed error={requests.error} retry={() => void requests.refetch()} />}
      {requests.isPending && <Waiting />}
      {rows?.length === 0 &&
        (requests.data?.length === 0 ? (
          <Empty title="No requests in the last hour" curl={eventCurl()}>
            Requests appear here a second after they are answered. Send one:
          </Empty>
        ) : (
          <Empty title="No requests match">Clear the filters to see all requests.</Empty>
        ))}
      {rows !== undefined && rows.length > 0 && (
        <DataTable
          tall
          label="Requests"
          columns={COLUMNS}
          rows={rows}
          rowId={({ at, method, path, durationMs, key }) => [at, method, path, durationMs, key].join(' ')}
        />
      )}
    </Screen>
  );
}
