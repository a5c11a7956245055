"""Azure's public inference traces of 2023 and 2024: a CSV with dates and tokens.

Columns ``TIMESTAMP,ContextTokens,GeneratedTokens`` (AzureLLMInferenceDataset2023.md and 2024.md of
Azure/AzurePublicDataset).  2023 writes ``2023-11-16 10:00:00.0000000``, seven digits and no offset;
2024 writes ``2024-05-10 00:00:00.009930+00:00``, and leaves the fraction out where it is 0.  The
multimodal trace of 2025 has a column NumImages too; its images are not counted as tokens.
"""

from serving.traces.csv_reader import TableReader
from serving.traces.exact_times import DateTimeReader

READER = TableReader(
    prompt="ContextTokens", output="GeneratedTokens", time="TIMESTAMP", unit=DateTimeReader()
)
