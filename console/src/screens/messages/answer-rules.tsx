import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { FieldGroup, Labelled, SelectInput, TextInput } from '../../ui/fields.tsx';
import type { Channel } from './queries.ts';
import { Options } from '../../ui/options.tsx';

type Rule = NonNullable<Channel['http']>['answers'][number];
type Outcome = Rule['outcome'];

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  sent: 'sent',
  later: 'try again later',
  refused: 'refused for good',
  bad_address: 'the address is wrong: suppress it',
  unknown: 'unknown: do not send again',
};

/** A rule as it is typed. */
interface Row {
  statuses: string;
  field: string;
  values: string;
  outcome: Outcome;
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

const ruleOf = ({ statuses, field, values, outcome }: Row): Rule => ({
  statuses: listOf(statuses).map(Number),
  ...(field.trim() !== '' && { field: field.trim(), values: listOf(values) }),
  outcome,
});

const rowOf = ({ statuses, field, values, outcome }: Rule): Row => ({
  statuses: statuses.join(', '),
  field: field ?? '',
  values: (values ?? []).join(', '),
  outcome,
});

interface AnswerRulesProps {
  value: unknown;
  onChange: (rules: Rule[]) => void;
  problem: string | undefined;
}

/** What a provider's answers mean. */
export function AnswerRules({ value, onChange, problem }: AnswerRulesProps) {
  const mayChange = useMayChange();
  const [rows, setRows] = useState(() => ((value ?? []) as Rule[]).map(rowOf));
  const set = (changed: Row[]): void => {
    setRows(changed);
    onChange(changed.map(ruleOf));
  };
  return (
    <FieldGroup
      label="What answers mean"
      hint="The first rule that fits decides. Without one, the status does: 2xx is sent, 429 and 5xx are tried again, other 4xx are refused."
      problem={problem}
    >
      {rows.map((row, at) => {
        const change = (changed: Partial<Row>): void =>
          set(rows.map((other, index) => (index === at ? { ...row, ...changed } : other)));
        return (
          // oxlint-disable-next-line react/no-array-index-key -- rules have no names
          <div key={at} className="grid gap-2 rounded-md border border-line p-2.5 sm:grid-cols-2">
            <Labelled label="Statuses">
              <TextInput
                placeholder="422, 400"
                value={row.statuses}
                onChange={({ target }) => change({ statuses: target.value })}
              />
            </Labelled>
            <Labelled label="Means">
              <SelectInput value={row.outcome} onChange={({ target }) => change({ outcome: target.value as Outcome })}>
                <Options of={Object.entries(OUTCOMES)} />
              </SelectInput>
            </Labelled>
            <Labelled label="If this field of the answer">
              <TextInput
                placeholder="/error/code, or empty: always"
                spellCheck={false}
                value={row.field}
                onChange={({ target }) => change({ field: target.value })}
              />
            </Labelled>
            <Labelled label="is one of">
              <TextInput
                placeholder="invalid_recipient, …"
                spellCheck={false}
                disabled={row.field.trim() === ''}
                value={row.values}
                onChange={({ target }) => change({ values: target.value })}
              />
            </Labelled>
            {mayChange && (
              <Button
                look="bare"
                className="justify-self-start"
                aria-label={`Remove the rule ${at + 1}`}
                onClick={() => set(rows.filter((_, index) => index !== at))}
              >
                <X size={15} aria-hidden /> Remove
              </Button>
            )}
          </div>
        );
      })}
      {mayChange && (
        <Button
          className="self-start"
          aria-label="Add a rule"
          onClick={() => set([...rows, { statuses: '', field: '', values: '', outcome: 'bad_address' }])}
        >
          <Plus size={15} aria-hidden /> Add a rule
        </Button>
      )}
    </FieldGroup>
  );
}
