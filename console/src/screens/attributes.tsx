import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { useMayChange } from '../api/session.ts';
import { attributesQuery, eventSettingsQuery, type Attribute } from '../api/queries.ts';
import { editsOf, ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { Labelled, SelectInput } from '../ui/fields.tsx';
import { Code, Empty, Failed, Panel, Screen } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { Options } from '../ui/options.tsx';

const COLUMNS: readonly Column<Attribute>[] = [
  { id: 'name', header: 'Name', value: ({ name }) => name, cell: ({ name }) => name },
  { id: 'key', header: 'Key', value: ({ key }) => key, cell: ({ key }) => <Code>{key}</Code> },
  { id: 'type', header: 'Belongs to', value: ({ type }) => type, cell: ({ type }) => type },
  {
    id: 'writableBy',
    header: 'Writable by',
    value: ({ effectiveWritableBy = '' }) => effectiveWritableBy,
    cell: ({ writableBy, effectiveWritableBy }) =>
      effectiveWritableBy === undefined
        ? '–'
        : `${effectiveWritableBy === 'user' ? 'users' : 'servers'}${(writableBy ?? null) === null ? ' (default)' : ''}`,
  },
];
/** Sets who may write sign-up dates, on which anniversaries depend. */
function SignUpDates() {
  const mayChange = useMayChange();
  const settings = useQuery(eventSettingsQuery);
  const { label, hint, options = [] } = useForm('events').find(({ name }) => name === 'signUpDateWritableBy')!;
  const save = useChange({
    run: (signUpDateWritableBy: 'server' | 'user') =>
      answer(admin.PATCH('/v1/events/settings', { body: { signUpDateWritableBy } })),
    done: 'Saved.',
    quiet: true,
  });
  if (settings.isPending || settings.isError) return null;
  return (
    <Panel title="Sign-up dates" className="max-w-3xl">
      <Labelled label={label} hint={hint}>
        <SelectInput
          className="max-w-72"
          value={settings.data.signUpDateWritableBy}
          disabled={save.isPending || !mayChange}
          onChange={({ target }) => save.mutate(target.value as 'server' | 'user')}
        >
          <Options of={options.map(({ value, text }) => [value, text])} />
        </SelectInput>
      </Labelled>
      {save.isError && <Failed error={save.error} />}
    </Panel>
  );
}

export const Attributes = () => (
  <Screen
    title="Attributes"
    about="Properties of users and events, such as a plan or a country. Conditions, boosts and groups of leaderboards use them."
  >
    <ResourceList
      noun="attribute"
      nameOf={({ name }) => name}
      query={attributesQuery}
      columns={COLUMNS}
      fields={useForm('attribute')}
      {...editsOf('/v1/attributes')}
      empty={
        <Empty
          title="No attributes yet"
          curl={curl('POST', '/v1/attributes', [{ key: 'plan', name: 'Plan', type: 'user' }])}
        >
          With attributes you can limit rules to some users or events. Create one here, or with:
        </Empty>
      }
    />
    <SignUpDates />
  </Screen>
);
