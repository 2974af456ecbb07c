import { Plus, X } from 'lucide-react';
import { Button } from '../ui/button.tsx';
import { FieldGroup, SelectInput } from '../ui/fields.tsx';
import { AttributeValueInput } from '../ui/suggestions.tsx';
import type { Option } from './field.ts';
import { Options } from '../ui/options.tsx';

export interface Condition {
  attributeId: string;
  attributeValue: string;
}

interface ConditionsProps {
  label: string;
  options: readonly Option[];
  value: readonly Condition[];
  onChange: (value: Condition[]) => void;
}

/** Conditions on attributes: all of them must hold. */
export function Conditions({ label, options, value, onChange }: ConditionsProps) {
  if (options.length === 0) return null;
  const change = (index: number, part: Partial<Condition>): void =>
    onChange(value.map((condition, at) => (at === index ? { ...condition, ...part } : condition)));
  return (
    <FieldGroup label={label}>
      {value.map((condition, index) => (
        <div key={index} className="flex items-center gap-2">
          <SelectInput
            aria-label="Attribute"
            value={condition.attributeId}
            onChange={({ target }) => change(index, { attributeId: target.value })}
          >
            <Options of={options.map((option) => [option.value, option.text])} />
          </SelectInput>
          <span className="text-muted">is</span>
          <AttributeValueInput
            attributeId={condition.attributeId}
            aria-label="Value"
            value={condition.attributeValue}
            onChange={({ target }) => change(index, { attributeValue: target.value })}
          />
          <Button
            look="bare"
            aria-label="Remove the condition"
            onClick={() => onChange(value.filter((_, at) => at !== index))}
          >
            <X size={14} />
          </Button>
        </div>
      ))}
      <Button
        look="bare"
        className="self-start"
        onClick={() => onChange([...value, { attributeId: options[0]!.value, attributeValue: '' }])}
      >
        <Plus size={14} aria-hidden /> Add a condition
      </Button>
    </FieldGroup>
  );
}
